from __future__ import annotations

import pytest

from agent_tui_core.events import (
    ReasoningDelta,
    TextDelta,
)
from agent_tui_core.wire.openai import ChatStream
from chunks import DONE, delta, run


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


def test_think_tags_are_text_unless_asked_for() -> None:
    assert run(delta(content="<think>a</think>b"), DONE)[0] == TextDelta("<think>a</think>b")


def test_text_is_never_held_back_once_it_is_no_tag() -> None:
    stream = ChatStream(think_tags=True)
    assert stream.feed(delta(content="A <")) == [TextDelta("A <")]
