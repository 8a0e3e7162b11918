from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.blocks import Reasoning
from agent_tui_core.errors import (
    BadRequest,
    ContextExceeded,
    Overloaded,
    ProviderError,
    ProviderRefused,
    StreamTruncated,
)
from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import Message, StopReason, Usage
from agent_tui_core.wire.accumulator import Accumulator
from agent_tui_core.wire.openai import ChatStream
from agent_tui_core.wire.sse import ServerSentEvent, SseParser

STREAMS = Path(__file__).parents[2] / "streams"
TOOLS = ("Read", "Glob", "Bash")


@dataclass(frozen=True)
class Outcome:
    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    """Id, name and input; the id is "" where the server gave none."""
    stop: StopReason = "end"
    usage: Usage | None = None
    error: tuple[type[ProviderError], str] | None = None
    opaque: dict[str, Any] = field(default_factory=dict)


LOOK = {"path": "a.py"}
LS = {"command": "ls"}

OUTCOMES: dict[str, Outcome] = {
    "openai_text": Outcome("Zażółć gęślą 🐢 jaźń.", usage=Usage(19, 10, 8, 4)),
    "openai_parallel_calls": Outcome(
        calls=(("call_a", "Read", LOOK), ("call_b", "Glob", {"pattern": "*.py"})), stop="tool_use"
    ),
    "openai_refusal": Outcome("I can't help with that."),
    "azure_empty_choices": Outcome("Hello there", usage=Usage(5, 2)),
    "azure_async_filter": Outcome("Color is"),
    "azure_content_filter": Outcome("I would", calls=(("call_f", "Bash", {}),), stop="content_filter"),
    "openrouter_native_error": Outcome("Half", error=(Overloaded, "network_error")),
    "openrouter_error_without_choices": Outcome("Half", error=(ContextExceeded, "prompt is too long")),
    "openrouter_reasoning": Outcome(
        "I'll read it.",
        "First look.",
        (("toolu_01", "Read", LOOK),),
        "tool_use",
        Usage(100, 40, None, 12),
        opaque={
            "reasoning_details": [
                {
                    "type": "reasoning.text",
                    "text": "First look.",
                    "signature": "c2lnbmF0dXJl",
                    "format": "anthropic-claude-v1",
                    "index": 0,
                }
            ]
        },
    ),
    "openrouter_error": Outcome(
        "Half an ans", error=(Overloaded, "Provider returned error: upstream fell over")
    ),
    "ollama_call": Outcome(
        calls=(("call_qz1", "Read", LOOK), ("call_qz2", "Read", {"path": "b.py"})), stop="tool_use"
    ),
    "ollama_thinking": Outcome("Yes.", "Hmm."),
    "vllm_call": Outcome(
        "\n\n",
        calls=(("chatcmpl-tool-9f", "Bash", {"command": "ls -l"}),),
        stop="tool_use",
        usage=Usage(30, 20),
    ),
    "vllm_error": Outcome("Par", error=(Overloaded, "The model's engine died")),
    "vllm_error_object": Outcome("Par", error=(Overloaded, "EngineCore")),
    "vllm_null_choices": Outcome("Hi", usage=Usage(3, 1)),
    "llamacpp_error_chunk": Outcome("Once", error=(ContextExceeded, "has been exceeded")),
    "lmstudio_compute_error": Outcome("The", error=(ProviderRefused, "Compute error.")),
    "groq_tool_use_failed": Outcome("Let me", error=(BadRequest, "Failed to call a function")),
    "llamacpp_error_field": Outcome("Once", error=(Overloaded, "context shift is disabled")),
    "llamacpp_call": Outcome(calls=(("", "Bash", {"command": "pwd"}),), stop="tool_use", usage=Usage(9, 3)),
    "lmstudio_error": Outcome(
        "The", error=(ProviderRefused, "The model has crashed without additional information.")
    ),
    "lmstudio_call": Outcome(calls=(("365174485", "Read", LOOK),), stop="tool_use"),
    "deepseek_reasoning": Outcome(
        "Looking",
        "I should look.",
        (("call_0_x", "Glob", {"pattern": "*"}),),
        "tool_use",
        Usage(10, 7, 4, 3),
        opaque={"reasoning_content": True},
    ),
    "deepseek_no_resource": Outcome("Some", error=(Overloaded, "insufficient_system_resource")),
    "mistral_parts": Outcome(
        "It is 4.", "Let me see.", (("xYz123abc", "Bash", LS),), "tool_use", Usage(3, 6)
    ),
    "groq_usage": Outcome("Fast", usage=Usage(17, 1)),
    "gemini_calls": Outcome(
        calls=(
            ("function-call-1", "Read", LOOK),
            ("function-call-2", "Read", {"path": "b.py"}),
            ("function-call-3", "Glob", {}),
        ),
        stop="tool_use",
        usage=Usage(1, 2),
    ),
    "gemini_calls_without_ids": Outcome(
        calls=(("", "Read", LOOK), ("", "Read", {"path": "b.py"}), ("", "Glob", {"pattern": "*"})),
        stop="tool_use",
    ),
    "gemini_calls_without_index": Outcome(
        calls=(("function-call-1", "Read", LOOK), ("function-call-2", "Glob", {"pattern": "*"})),
        stop="tool_use",
        opaque={"extra_content": {"google": {"thought_signature": "U2lnQg=="}}},
    ),
    "gemini_malformed_call": Outcome(
        "Then",
        error=(Overloaded, "malformed_function_call"),
        opaque={"extra_content": {"google": {"thought": True}}},
    ),
    "gemini_safety": Outcome("It is", stop="content_filter"),
    "kimi_call": Outcome(
        "",
        "I list.",
        (("functions.Bash:0", "Bash", LS),),
        "tool_use",
        Usage(19, 21, 10),
        opaque={"reasoning_content": True},
    ),
    "dashscope_call": Outcome(
        "",
        "Look.",
        (("call_8f08d2b0", "Read", LOOK),),
        "tool_use",
        Usage(20, 9, 16),
        opaque={"reasoning_content": True},
    ),
    "bedrock_gateway_call": Outcome(
        "I'll look.", calls=(("tooluse_Qk3x", "Read", LOOK),), stop="tool_use", usage=Usage(74, 17)
    ),
    "bedrock_guardrail": Outcome("Sorry, the model cannot", stop="content_filter"),
    "bedrock_context_full": Outcome("So far", calls=(("tooluse_1", "Bash", {}),), stop="length"),
    "think_tags": Outcome("Yes. <think> is a tag.", "\nHm.\n"),
    "legacy_function_call": Outcome(calls=(("", "Bash", LS),), stop="tool_use"),
    "kimi_usage": Outcome("Hi", usage=Usage(8, 2, 6)),
    "usage_grows": Outcome("ab", usage=Usage(9, 2)),
    "cut_call": Outcome("I delete", error=(StreamTruncated, "broke off")),
    "length_call": Outcome("I write", calls=(("c1", "Bash", {}),), stop="length"),
    "done_without_blank_line": Outcome("Hi"),
    "finish_without_done": Outcome("Hi"),
    "usage_without_blank_line": Outcome("Hi", usage=Usage(1, 1)),
    "after_done": Outcome("Hi"),
    "several_documents": Outcome("AB"),
    "mid_error_and_text": Outcome("A", error=(ProviderRefused, "boom")),
    "split_surrogates": Outcome("a 😀 b \ufffd\ufffdc\ufffd"),
}


def parsed(body: bytes, step: int | None = None, cut: int | None = None) -> list[ServerSentEvent | None]:
    parser = SseParser()
    edges = [0, len(body)] if cut is None else [0, cut, len(body)]
    if step is not None:
        edges = [*range(0, len(body), step), len(body)]
    events: list[ServerSentEvent | None] = []
    for start, end in pairwise(edges):
        events += parser.feed(body[start:end])
    return [*events, parser.close()]


def read(sent: list[ServerSentEvent | None]) -> tuple[list[StreamEvent], ProviderError | None]:
    stream, events = ChatStream(TOOLS), list[StreamEvent]()
    *whole, pending = sent
    try:
        for event in whole:
            assert event is not None
            events += stream.feed(event)
        events += stream.close(pending)
    except ProviderError as error:
        return events, error
    return events, stream.failed


def message_of(events: list[StreamEvent]) -> Message:
    accumulator = Accumulator()
    for event in events:
        accumulator.add(event)
    message = accumulator.message()
    assert message is not None
    return message


def test_every_recorded_stream_has_an_expected_outcome() -> None:
    assert {path.stem for path in STREAMS.glob("*.sse")} == set(OUTCOMES)


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_recorded_stream_comes_out_as_it_was_meant(name: str) -> None:
    expected = OUTCOMES[name]
    events, error = read(parsed((STREAMS / f"{name}.sse").read_bytes()))
    message = message_of(events)
    thoughts = [block for block in message.blocks if isinstance(block, Reasoning)]
    if expected.error is None:
        assert error is None
        assert message.stop_reason == expected.stop
    else:
        assert type(error) is expected.error[0]
        assert expected.error[1] in str(error)
        assert message.stop_reason == "error"
        assert message.tool_uses == ()
    assert message.text == expected.text
    assert "".join(block.text for block in thoughts) == expected.reasoning
    assert {key: value for block in thoughts for key, value in block.opaque.items()} == expected.opaque
    assert message.usage == expected.usage
    assert [(call.name, call.input) for call in message.tool_uses] == [call[1:] for call in expected.calls]
    for call, (wire_id, _, _) in zip(message.tool_uses, expected.calls, strict=True):
        assert call.id == wire_id or (not wire_id and call.id.startswith("call_"))
        assert bool(call.broken) == (expected.stop in {"length", "content_filter"})


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_recorded_stream_does_not_depend_on_its_slices(name: str) -> None:
    body = (STREAMS / f"{name}.sse").read_bytes()
    whole = parsed(body)
    assert parsed(body, step=1) == whole
    assert parsed(body, step=7) == whole
    for cut in range(1, len(body)):
        assert parsed(body, cut=cut) == whole, cut


def test_the_signature_of_a_call_is_kept_with_it() -> None:
    events, _ = read(parsed((STREAMS / "gemini_calls.sse").read_bytes()))
    first, second, _ = message_of(events).tool_uses
    assert first.opaque == {"extra_content": {"google": {"thought_signature": "U2lnQQ=="}}}
    assert second.opaque == {}
