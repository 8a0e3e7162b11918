from __future__ import annotations

import pytest

from agent_tui_core.blocks import Reasoning, Text, ToolUse
from agent_tui_core.events import (
    AnswerEnded,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.messages import StopReason, Usage
from agent_tui_core.wire.accumulator import Accumulator

END = AnswerEnded("tool_use", "tool_calls")


def grown(*events: StreamEvent) -> Accumulator:
    accumulator = Accumulator()
    for event in events:
        accumulator.add(event)
    return accumulator


def test_blocks_stand_in_the_order_in_which_they_began() -> None:
    message = grown(
        ReasoningDelta("hm"),
        TextDelta("I lo"),
        ToolUseDelta(0, "a", "Re", '{"p"'),
        ToolUseDelta(1, "b", "Bash", "{}"),
        ToolUseDelta(0, "a", "Read", ":1}"),
        TextDelta("ok."),
        ReasoningDelta("so"),
        TextDelta("Done"),
        END,
    ).message()
    assert message is not None
    assert message.blocks == (
        Reasoning("hm"),
        Text("I lo"),
        ToolUse("a", "Read", {"p": 1}),
        ToolUse("b", "Bash", {}),
        Text("ok."),
        Reasoning("so"),
        Text("Done"),
    )
    assert (message.role, message.stop_reason, message.usage) == ("assistant", "tool_use", None)


def test_asking_twice_gives_the_same_message() -> None:
    accumulator = grown(ToolUseDelta(0, "a", "Read", '{"p":1}{"p":2}{"p":3}'), END)
    first = accumulator.message()
    assert first is not None
    assert first == accumulator.message()
    assert [use.input for use in first.tool_uses] == [{"p": 1}, {"p": 2}, {"p": 3}]
    assert len({use.id for use in first.tool_uses}) == 3
    assert first.tool_uses[0].id == "a"


@pytest.mark.parametrize("stop", ["interrupted", "error"])
@pytest.mark.parametrize("ended", [True, False])
def test_an_answer_that_broke_off_keeps_its_words_and_no_call(stop: StopReason, ended: bool) -> None:
    events: list[StreamEvent] = [
        ReasoningDelta("hm"),
        TextDelta("I"),
        ToolUseDelta(0, "a", "Bash", '{"command":"rm -r x"}'),
        UsageReported(Usage(3)),
    ]
    message = grown(*events, *([END] if ended else [])).message(stop_reason=stop)
    assert message is not None
    assert message.blocks == (Reasoning("hm"), Text("I"))
    assert (message.stop_reason, message.usage) == (stop, Usage(3))


def test_an_answer_without_an_end_is_an_error_without_calls() -> None:
    accumulator = grown(TextDelta("I"), ToolUseDelta(0, "a", "Bash", "{}"))
    message = accumulator.message()
    assert accumulator.ended is None
    assert message is not None
    assert (message.stop_reason, message.tool_uses) == ("error", ())


@pytest.mark.parametrize(
    "events",
    [
        [],
        [UsageReported(Usage(3))],
        [ToolUseDelta(0, "a", "Bash", "{}")],
        [TextDelta(" \n")],
        [TextDelta(""), ReasoningDelta("")],
    ],
)
def test_nothing_worth_keeping_is_no_message(events: list[StreamEvent]) -> None:
    assert grown(*events).message(stop_reason="interrupted") is None


def test_anything_but_usage_is_a_start() -> None:
    accumulator = grown(UsageReported(Usage(3, 1)), UsageReported(Usage(2, 4)))
    assert not accumulator.started
    assert accumulator.usage == Usage(3, 4)
    accumulator.add(TextDelta(""))
    assert accumulator.started


def test_after_the_end_only_usage_counts() -> None:
    accumulator = grown(TextDelta("a"), AnswerEnded("end"), TextDelta("b"), UsageReported(Usage(1)))
    message = accumulator.message()
    assert message is not None
    assert (message.text, message.usage) == ("a", Usage(1))


def test_structured_reasoning_goes_back_in_whole_entries() -> None:
    def text(words: str, index: int = 0, **more: str) -> dict[str, object]:
        return {"type": "reasoning.text", "text": words, "index": index, **more}

    encrypted = {"type": "reasoning.encrypted", "data": "Zm9v", "id": "e1", "index": 1}
    sent = [
        [text("a")],
        [text("b", format="x")],
        [{"type": "reasoning.text", "signature": "s1", "index": 0}],
        [text("c")],
        [encrypted, {**encrypted, "id": "e2"}],
        [{"type": "reasoning.summary", "summary": "d", "index": 2}],
        [{"type": "reasoning.summary", "summary": "e", "index": 2}],
    ]
    deltas = [ReasoningDelta("w", {"reasoning_details": details}) for details in sent]  # type: ignore[dict-item]
    message = grown(*deltas, TextDelta("x"), AnswerEnded("end")).message()
    assert message is not None
    thought = message.blocks[0]
    assert isinstance(thought, Reasoning)
    assert thought.opaque["reasoning_details"] == [
        text("ab", format="x", signature="s1"),
        text("c"),
        encrypted,
        {**encrypted, "id": "e2"},
        {"type": "reasoning.summary", "summary": "de", "index": 2},
    ]


def test_what_a_provider_wants_back_later_belongs_to_the_reasoning_before_it() -> None:
    message = grown(
        ReasoningDelta("hm"), TextDelta("x"), ReasoningDelta("", {"signature": "s"}), AnswerEnded("end")
    ).message()
    assert message is not None
    assert message.blocks == (Reasoning("hm", {"signature": "s"}), Text("x"))


def test_merging_never_changes_an_event() -> None:
    first = ReasoningDelta("a", {"k": {"x": 1}, "l": [1]})
    call = ToolUseDelta(0, "a", "Read", "", {"extra_content": {"google": {"a": 1}}})
    more = ToolUseDelta(0, "a", "Read", "{}", {"extra_content": {"google": {"b": 2}}})
    message = grown(first, ReasoningDelta("b", {"k": {"y": 2}, "l": [2]}), call, more, END).message()
    assert first.opaque == {"k": {"x": 1}, "l": [1]}
    assert call.opaque == {"extra_content": {"google": {"a": 1}}}
    assert message is not None
    assert message.blocks[0] == Reasoning("ab", {"k": {"x": 1, "y": 2}, "l": [1, 2]})
    assert message.tool_uses[0].opaque == {"extra_content": {"google": {"a": 1, "b": 2}}}
