from __future__ import annotations

import pytest

from agent_tui_core.events import (
    ReasoningDelta,
    TextDelta,
    ToolUseDelta,
)
from agent_tui_core.messages import ThinkTags
from agent_tui_core.wire.openai import ChatStream
from chunks import DONE, calls, delta, piece, run


def test_mirrored_reasoning_counts_once() -> None:
    details = [{"type": "reasoning.text", "text": "a"}]
    events = run(delta(reasoning_details=details, reasoning_content="b", reasoning="c", content="x"), DONE)
    assert events[0] == ReasoningDelta("a", {"reasoning_details": details})
    assert run(delta(reasoning_content="b", reasoning="c", content="x"), DONE)[0] == ReasoningDelta("b")
    assert run(delta(reasoning="c", content="x"), DONE)[0] == ReasoningDelta("c")


def test_encrypted_reasoning_is_kept_beside_the_readable_one() -> None:
    secret = [{"type": "reasoning.encrypted", "data": "Zm9v"}]
    events = run(delta(reasoning_details=secret, reasoning="c"), delta(content="x"), DONE)
    assert events[0] == ReasoningDelta("c", {"reasoning_details": secret})


THINKING = {
    "<think>a</think>b": ("a", "b"),
    "\n<think>\na\n</think>\n\nb <think>c</think>": ("\na\n", "b <think>c</think>"),
    "b <think>c</think>": ("", "b <think>c</think>"),
    "<thin": ("", "<thin"),
    "<thinker>": ("", "<thinker>"),
    "<think>a</thi": ("a</thi", ""),
    "<think>a < b </x> </think>": ("a < b </x> ", ""),
    "<think></think>b": ("", "b"),
    "  x": ("", "  x"),
}


@pytest.mark.parametrize("text", THINKING)
@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_think_tags_count_at_the_very_start_alone(text: str, step: int) -> None:
    deltas = [delta(content=text[i : i + step]) for i in range(0, len(text), step)]
    events = run(*deltas, DONE, think=True)
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert (thought, said) == THINKING[text]


def test_think_tags_are_reasoning_unless_switched_off() -> None:
    said = delta(content="<think>a</think>b")
    stream = ChatStream()
    assert stream.feed(said) == [ReasoningDelta("a"), TextDelta("b")]
    assert run(said, DONE, think=False)[0] == TextDelta("<think>a</think>b")


OPENED = {
    "a\n</think>\n\nb </think>": ("a\n", "b </think>"),
    "<think>a</think>b": ("a", "b"),
    "\n<think>\na</think>b": ("\na", "b"),
    "<thinker>": ("<thinker>", ""),
    "a</thi": ("a</thi", ""),
    "</think>b": ("", "b"),
    "": ("", ""),
}


@pytest.mark.parametrize("text", OPENED)
@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_where_the_template_wrote_the_opening_tag_the_answer_begins_as_reasoning(
    text: str, step: int
) -> None:
    deltas = [delta(content=text[i : i + step]) for i in range(0, len(text), step)]
    events = run(*deltas, calls(piece(0, "a", "Read", "{}")), DONE, think="open")
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert (thought, said) == OPENED[text]


def test_a_server_that_tells_reasoning_apart_needs_no_opening_tag() -> None:
    events = run(delta(reasoning_content="a"), delta(content="b"), DONE, think="open")
    assert events[:2] == [ReasoningDelta("a"), TextDelta("b")]


@pytest.mark.parametrize("think", [True, "open"])
def test_white_space_before_a_call_stays_before_it(think: ThinkTags) -> None:
    events = run(delta(content="\n\n"), calls(piece(0, "a", "Read", "{}")), DONE, think=think)
    assert [type(event) for event in events[:2]] == [TextDelta, ToolUseDelta]


def test_text_is_never_held_back_once_it_is_no_tag() -> None:
    stream = ChatStream(think_tags=True)
    assert stream.feed(delta(content="A <")) == [TextDelta("A <")]
