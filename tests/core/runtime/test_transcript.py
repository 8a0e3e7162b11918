from __future__ import annotations

from collections.abc import Iterable

from agent_tui_core.blocks import Text, ToolResult, ToolUse
from agent_tui_core.events import (
    AnswerEnded,
    Body,
    Event,
    MessageCommitted,
    PromptReturned,
    ReasoningDelta,
    RequestRetrying,
    RequestStarted,
    RunEnded,
    RunStarted,
    StateChanged,
    TextDelta,
    ToolEnded,
    ToolJudged,
    ToolProgressed,
    ToolProposed,
    ToolStarted,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.messages import Message, Usage
from agent_tui_core.runtime.entries import EndEntry, ProseEntry, ToolEntry, UserEntry
from agent_tui_core.runtime.transcript import Transcript

PROMPT = Message("user", (Text("go"),))
DURABLE = (RunStarted, MessageCommitted, ToolProposed, ToolJudged, ToolStarted, ToolEnded, RunEnded)


def folded(bodies: Iterable[Body]) -> Transcript:
    transcript = Transcript()
    transcript.apply(Event("a", "r", seq, float(seq), body) for seq, body in enumerate(bodies, 1))
    return transcript


def one_round(number: int) -> list[Body]:
    call = ToolUse("c", "Read", {"file_path": f"{number}"})
    result = ToolResult("c", f"content {number}")
    answer = Message("assistant", (Text(f"Round {number}."), call), "tool_use", Usage(10, 5))
    key = f"k{number}"
    return [
        RequestStarted("m", number),
        TextDelta(f"Round {number}."),
        ToolUseDelta(0, "c", "Read", '{"file_path": '),
        ToolUseDelta(0, "c", "Read", f'"{number}"}}'),
        UsageReported(Usage(10, 5)),
        AnswerEnded("tool_use"),
        *([MessageCommitted(PROMPT)] if number == 1 else []),
        MessageCommitted(answer),
        ToolProposed(key, call, answer.id),
        ToolJudged(key, True, "rule", "reading is allowed", "Read(./**)", call.input, 0.0),
        ToolStarted(key, call.input),
        ToolProgressed(key, "half"),
        ToolEnded(key, result, "ok", 0.5),
        MessageCommitted(Message("tool", (result,))),
    ]


def whole_run() -> list[Body]:
    last = Message("assistant", (Text("Done."),), "end", Usage(20, 2))
    return [
        RunStarted(PROMPT),
        *one_round(1),
        *one_round(2),
        *one_round(3),
        RequestStarted("m", 4),
        TextDelta("Do"),
        TextDelta("ne."),
        UsageReported(Usage(20, 2)),
        AnswerEnded("end"),
        MessageCommitted(last),
        RunEnded("completed", "", 4, Usage(50, 17)),
        StateChanged("idle"),
    ]


def shown(transcript: Transcript) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for entry in transcript.entries:
        match entry:
            case UserEntry(text=text):
                rows.append(("user", text))
            case ProseEntry(kind=kind):
                rows.append((kind, entry.text, entry.closed, entry.cut))
            case ToolEntry(name=name, status=status, input=input_, result=result):
                rows.append((name, status, input_, result, entry.seconds, entry.raw))
            case EndEntry(end=end):
                rows.append(("end", end))
            case _:
                rows.append((type(entry).__name__,))
    return rows


def test_what_history_brings_back_reads_like_what_was_seen_live() -> None:
    live = folded(whole_run())
    again = folded(body for body in whole_run() if isinstance(body, DURABLE))
    assert shown(again) == shown(live)
    assert again.usage == live.usage == Usage(50, 17)
    assert [row[0] for row in shown(live)] == ["user", *["text", "Read"] * 3, "text"]


def test_only_what_changed_is_dirty() -> None:
    transcript = folded([RunStarted(PROMPT), RequestStarted("m", 1), TextDelta("a")])
    transcript.dirty.clear()
    transcript.apply([Event("a", "r", 9, 9.0, TextDelta("b"))])
    assert transcript.dirty == {1}


def test_reasoning_and_text_are_entries_of_their_own() -> None:
    transcript = folded([ReasoningDelta("hm"), ReasoningDelta("m"), TextDelta("yes")])
    assert shown(transcript) == [("reasoning", "hmm", True, False), ("text", "yes", False, False)]


def test_an_interrupted_answer_is_marked_where_it_was_cut() -> None:
    partial = Message("assistant", (Text("half"),), "interrupted")
    transcript = folded(
        [
            RunStarted(PROMPT),
            RequestStarted("m", 1),
            TextDelta("half"),
            ToolUseDelta(0, "c", "Read", "{"),
            MessageCommitted(PROMPT),
            MessageCommitted(partial),
            RunEnded("interrupted", "by you", 1, Usage()),
        ]
    )
    assert shown(transcript)[2][:2] == ("Read", "not_run")
    assert shown(transcript)[-1] == ("end", "interrupted")


def test_a_half_call_of_a_request_that_is_made_again_is_withdrawn_with_a_line() -> None:
    answer = Message("assistant", (ToolUse("d", "Read", {}),), "tool_use")
    transcript = folded(
        [
            RunStarted(PROMPT),
            RequestStarted("m", 1),
            ToolUseDelta(0, "c", "Bash", '{"comm'),
            RequestRetrying(1, 3, 0.5, "the answer broke off"),
            RequestStarted("m", 1),
            ToolUseDelta(0, "d", "Read", "{}"),
            MessageCommitted(PROMPT),
            MessageCommitted(answer),
            ToolProposed("k", answer.tool_uses[0], answer.id),
        ]
    )
    _, half, whole = transcript.entries
    assert isinstance(half, ToolEntry)
    assert isinstance(whole, ToolEntry)
    assert (half.name, half.status) == ("Bash", "not_run")
    assert "withdrawn" in half.reason
    assert (whole.name, whole.status) == ("Read", "judging")


def test_a_prompt_that_came_back_is_marked_and_handed_on() -> None:
    transcript = folded([RunStarted(PROMPT), PromptReturned("go", "no connection")])
    [entry] = transcript.entries
    assert isinstance(entry, UserEntry)
    assert entry.returned == "no connection"
    assert transcript.returned is not None


def test_events_that_fit_nowhere_are_ignored() -> None:
    odd: list[Body] = [
        ToolEnded("nowhere", ToolResult("c", ""), "ok", 0.0),
        ToolStarted("nowhere", {}),
        AnswerEnded("end"),
        RunEnded("completed", "", 0, Usage()),
    ]
    assert folded(odd).entries == []
