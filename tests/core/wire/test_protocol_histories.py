"""Whole conversations as each protocol sends them: valid, with what it wants back, with nothing foreign."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from agent_tui_core.blocks import ContentBlock, Image, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.messages import Message, ModelRequest, RequestOptions, StopReason, ToolSpec
from agent_tui_core.wire.sse import SseParser
from protocols import MESSAGES, RESPONSES, SPEECHES, Speech, message, over_protocols
from writers import SEAL, MessagesWriter, ResponsesWriter

PICTURE = Image("data:image/png;base64,AAAA")
SPECS = (ToolSpec("Read", "Reads.", {"type": "object", "properties": {}}), ToolSpec("Bash", "", {}))


def user(*blocks: ContentBlock | str) -> Message:
    return Message("user", tuple(Text(block) if isinstance(block, str) else block for block in blocks))


def assistant(*blocks: ContentBlock, stop: StopReason = "end") -> Message:
    return Message("assistant", blocks, stop)


def results(*blocks: ToolResult) -> Message:
    return Message("tool", blocks)


def body(speech: Speech, *messages: Message, **settings: Any) -> dict[str, Any]:
    asked = ModelRequest("m", messages, system_prompt="Be brief.", tools=SPECS, **settings)
    made = speech.body(asked)
    speech.rules(made)
    return made


def read(speech: Speech, sent: bytes) -> Message:
    """The message that an answer of these bytes becomes."""
    parser, stream = SseParser(), speech.stream(["Read", "Bash"])
    events = [event for each in parser.feed(sent) for event in stream.feed(each)]
    return message(events + stream.close(parser.close()))


def thoughtful(speech: Speech, *call_ids: str, seal: str = SEAL) -> Message:
    """An answer with sealed reasoning, words, and calls."""
    w = speech.writer()
    calls = w.calls(*((call_id, "Read", ['{"path": "a"}']) for call_id in call_ids)) if call_ids else b""
    return read(speech, w.thought("hm", seal) + w.text("I look.") + calls + w.end("tool_use"))


@over_protocols
def test_a_history_of_everything_is_accepted(speech: Speech) -> None:
    made = body(
        speech,
        user("Look", PICTURE, Image("https://pictures.example/a.png")),
        thoughtful(speech, "call_a", "call_b", "call_c"),
        results(
            ToolResult("call_a", "one"),
            ToolResult("call_b", "", is_error=True, images=(PICTURE,)),
            ToolResult("call_c", " ", images=(PICTURE,)),
        ),
        assistant(ToolUse("call_d", "Re ad!", {}, "broken", "{")),
        results(ToolResult("call_d", "")),
        assistant(Reasoning("hm"), Text("Half an ans"), stop="interrupted"),
        user("Go on", " "),
        assistant(Reasoning("only thought"), stop="error"),
        user("Well?"),
        thoughtful(speech, "call_e"),
        results(ToolResult("call_e", "done")),
        max_tokens=900,
        options=RequestOptions(temperature=0.5),
    )
    sent = json.dumps(made)
    assert "Be brief." in sent
    assert "Half an ans" in sent
    assert "only thought" not in sent
    assert 900 in made.values()
    assert made["temperature"] == 0.5
    assert len(made["tools"]) == 2


@over_protocols
def test_what_the_provider_wants_back_goes_back_unchanged_and_in_its_place(speech: Speech) -> None:
    made = body(
        speech,
        user("a"),
        thoughtful(speech, "call_a", seal="first"),
        results(ToolResult("call_a", "ok")),
        thoughtful(speech, seal="second"),
        user("b"),
        thoughtful(speech, "call_b", seal="third"),
        results(ToolResult("call_b", "ok")),
    )
    assert speech.sealed(made) == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param(before, now, id=f"{before.name}-to-{now.name}")
        for before, now in permutations(SPEECHES, 2)
    ],
)
def test_what_one_protocol_sealed_is_never_shown_to_another(before: Speech, now: Speech) -> None:
    made = body(
        now,
        user("a"),
        thoughtful(before, "call_a", "call_b"),
        results(ToolResult("call_a", "one"), ToolResult("call_b", "two")),
        thoughtful(before),
        user("b"),
        thoughtful(now, seal="own"),
        user("c"),
    )
    if now.name != "chat":  # its fields have no tag, and a gateway of its kind wrote them
        assert now.sealed(made) == ["own"]
    sent = json.dumps(made)
    assert "I look." in sent
    assert '"call_b"' in sent
    assert '"anthropic"' not in sent
    assert '"responses"' not in sent
    assert now is RESPONSES or not any(f'"{name}' in sent for name in ("rs_", "fc_", "msg_"))


@over_protocols
@pytest.mark.parametrize("stop", ["interrupted", "error", "length", "content_filter"])
def test_an_answer_that_was_cut_can_be_followed(speech: Speech, stop: StopReason) -> None:
    whole = thoughtful(speech, "call_a")
    broken = tuple(
        ToolUse(block.id, block.name, {}, "cut off", "{", block.opaque)
        if isinstance(block, ToolUse)
        else block
        for block in whole.blocks
    )
    kept = [block for block in whole.blocks if not isinstance(block, ToolUse)]
    thought = [block for block in kept if isinstance(block, Reasoning)]
    followed = body(speech, user("a"), assistant(*kept, stop=stop), user("b"))
    assert not any(f'"{name}_' in json.dumps(followed) for name in ("rs", "msg", "fc"))
    body(speech, user("a"), assistant(*thought, stop=stop), user("b"))
    body(
        speech, user("a"), assistant(*broken, stop=stop), results(ToolResult("call_a", "no", True)), user("b")
    )


@over_protocols
def test_ids_of_another_protocol_are_made_legal_and_results_follow_them(speech: Speech) -> None:
    strange = "functions.Read:0 " + "x" * 80
    made = body(
        speech,
        user("a"),
        assistant(ToolUse(strange, "Read", {}), ToolUse("ok_1", "Read", {})),
        results(ToolResult(strange, "one"), ToolResult("ok_1", "two")),
        assistant(ToolUse(strange, "Read", {})),
        results(ToolResult(strange, "three")),
    )
    assert "ok_1" in json.dumps(made)


@over_protocols
def test_halves_of_characters_never_leave(speech: Speech) -> None:
    odd = "a\ud83d"
    made = body(
        speech,
        user(odd),
        assistant(Text(odd), ToolUse("c", "Read", {odd: odd})),
        results(ToolResult("c", odd)),
    )
    json.dumps(made, ensure_ascii=False).encode()


# Anthropic


def test_redacted_and_wordless_thinking_go_back_where_they_stood() -> None:
    w = MessagesWriter()
    sent = w.thought("one", "s1") + w.redacted("blob") + w.text("Now.") + w.thought("", "s2")
    sent += w.calls(("call_a", "Read", ["{}"])) + w.end("tool_use")
    made = body(MESSAGES, user("a"), read(MESSAGES, sent), results(ToolResult("call_a", "ok")))
    assert made["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "one", "signature": "s1"},
        {"type": "redacted_thinking", "data": "blob"},
        {"type": "text", "text": "Now."},
        {"type": "thinking", "thinking": "", "signature": "s2"},
        {"type": "tool_use", "id": "call_a", "name": "Read", "input": {}},
    ]


def test_thinking_that_was_interrupted_is_unsigned_and_stays_here() -> None:
    kept = assistant(Reasoning("half a thou"), Text("I"), stop="interrupted")
    made = body(MESSAGES, user("a"), kept, user("b"))
    assert made["messages"][1]["content"] == [{"type": "text", "text": "I"}]


def test_the_prompt_cache_is_marked_on_tools_system_and_the_last_two_turns() -> None:
    history = [user("a"), assistant(Text("b")), user("c"), assistant(Text("d")), user("e", PICTURE)]
    made = body(MESSAGES, *history)
    mark = {"type": "ephemeral"}
    assert made["tools"][-1]["cache_control"] == mark
    assert made["system"][0]["cache_control"] == mark
    marked = ["cache_control" in turn["content"][-1] for turn in made["messages"] if turn["role"] == "user"]
    assert marked == [False, True, True]
    assert made["messages"][-1]["content"][-1]["cache_control"] == mark


def test_turns_of_one_role_are_one_with_results_before_words() -> None:
    call = assistant(ToolUse("c", "Read", {}))
    made = body(MESSAGES, user("a"), call, results(ToolResult("c", "ok")), user("b"))
    assert [turn["role"] for turn in made["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in made["messages"][-1]["content"]] == ["tool_result", "text"]


@pytest.mark.parametrize(
    ("thinking", "limit", "expected"),
    [
        ("adaptive", None, {"type": "adaptive", "display": "summarized"}),
        ("budget", None, {"type": "enabled", "budget_tokens": 16_000}),
        ("budget", 4_000, {"type": "enabled", "budget_tokens": 2_000}),
        ("budget", 1_500, None),
        ("off", None, None),
    ],
)
def test_thinking_is_asked_for_within_its_bounds_and_never_with_a_temperature(
    thinking: Any, limit: int | None, expected: object
) -> None:
    from agent_tui_core.wire.anthropic import request_body

    options = RequestOptions(temperature=0.2, top_p=0.5)
    made = request_body(ModelRequest("m", (user("a"),), max_tokens=limit, options=options), thinking=thinking)
    assert made.get("thinking") == expected
    assert ("temperature" in made) == ("top_p" in made) == (expected is None)


# Responses


def test_items_go_back_as_they_came_with_their_ids_and_phase() -> None:
    w = ResponsesWriter()
    sent = w.thought("one", "e1") + w.text("Now.") + w.thought("two", "e2")
    sent += w.calls(("call_a", "Read", ["{}"])) + w.end("tool_use")
    made = body(RESPONSES, user("a"), read(RESPONSES, sent), results(ToolResult("call_a", "ok")))
    assert [(item["type"], item.get("id")) for item in made["input"]] == [
        ("message", None),
        ("reasoning", "rs_0"),
        ("message", "msg_1"),
        ("reasoning", "rs_2"),
        ("function_call", "fc_3"),
        ("function_call_output", None),
    ]
    assert made["input"][1]["summary"] == [{"type": "summary_text", "text": "one"}]
    assert made["include"] == ["reasoning.encrypted_content"]


def test_the_phase_of_a_message_goes_back() -> None:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "phase": "commentary"}
    part = {"type": "output_text", "text": "Soon."}
    response = {"object": "response", "status": "completed", "output": [{**item, "content": [part]}]}
    stream = RESPONSES.stream()
    answer = message(stream.whole(json.dumps(response).encode()))
    made = body(RESPONSES, user("a"), answer, user("b"))
    assert made["input"][1]["phase"] == "commentary"
    assert made["input"][1]["id"] == "msg_1"


def test_reasoning_that_cannot_stand_alone_stays_here_and_takes_the_ids_with_it() -> None:
    w = ResponsesWriter()
    sent = w.thought("one", "") + w.calls(("call_a", "Read", ["{}"])) + w.end("tool_use")
    made = body(RESPONSES, user("a"), read(RESPONSES, sent), results(ToolResult("call_a", "ok")))
    assert [(item["type"], item.get("id")) for item in made["input"]] == [
        ("message", None),
        ("function_call", None),
        ("function_call_output", None),
    ]
