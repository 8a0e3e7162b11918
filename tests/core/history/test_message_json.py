"""Owns the proof that a message survives its way to JSON and back, and that nothing else passes for one."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core import (
    AgentOptions,
    Client,
    Image,
    Message,
    Reasoning,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    estimate_tokens,
    message_from_json,
    message_to_json,
)
from scripted import Scripted, says

WORDS = st.text(max_size=20)
OBJECTS = st.dictionaries(WORDS, st.none() | st.booleans() | st.integers() | WORDS, max_size=3)
ADDRESSES = st.sampled_from(["https://h/a.png", "data:image/png;base64,aGk="])
IMAGES = st.builds(Image, ADDRESSES, st.sampled_from(["auto", "low", "high"]))
BLOCKS = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Reasoning, WORDS, OBJECTS),
    st.builds(ToolUse, WORDS, WORDS, OBJECTS, broken=st.none() | WORDS, raw=WORDS, opaque=OBJECTS),
    st.builds(ToolResult, WORDS, WORDS, st.booleans(), st.lists(IMAGES, max_size=2).map(tuple)),
    IMAGES,
)
COUNTS = st.none() | st.integers(0, 10**9)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(BLOCKS, max_size=4).map(tuple),
    st.none() | st.sampled_from(["end", "tool_use", "length", "interrupted"]),
    st.none() | st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS),
    WORDS,
)


@given(MESSAGES)
def test_a_message_is_the_same_after_its_way_through_json(message: Message) -> None:
    form = message_to_json(message)
    assert message_from_json(form) == message
    assert message_from_json(json.dumps(form)) == message
    assert message_from_json(json.dumps(form).encode()) == message


def test_what_is_foreign_in_a_block_becomes_plain_and_belongs_to_the_message_no_more() -> None:
    message = Message("assistant", (ToolUse("c1", "look", MappingProxyType({"at": ("a", "b")})),))
    form = message_to_json(message)
    assert json.loads(json.dumps(form))["blocks"][0]["input"] == {"at": ["a", "b"]}
    form["blocks"][0]["input"]["at"].append("c")
    assert message.tool_uses[0].input == {"at": ("a", "b")}


def test_by_hand_role_and_blocks_are_enough() -> None:
    message = message_from_json(
        {
            "role": "user",
            "blocks": [{"type": "Text", "text": "hi"}, {"type": "Image", "url": "http://h/a.png"}],
        }
    )
    assert message.blocks == (Text("hi"), Image("http://h/a.png"))
    assert len(message.id) == 32


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{", "no JSON"),
        ("[1]", "should be a JSON object, not list"),
        ({"blocks": []}, "role"),
        ({"role": "system", "blocks": []}, "role"),
        ({"role": "user"}, "blocks"),
        ({"role": "user", "blocks": ["hi"]}, "blocks"),
        ({"role": "user", "blocks": [{"type": "Sound"}]}, r"blocks\[0\]\.type"),
        ({"role": "user", "blocks": [{"type": "Text", "text": 1}]}, r"blocks\[0\]\.text"),
        ({"role": "assistant", "blocks": [], "usage": {"input_tokens": "many"}}, r"usage\.input_tokens"),
    ],
)
def test_what_is_no_message_is_refused_with_the_place(value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"not a message: .*{words}"):
        message_from_json(value)


async def test_a_conversation_that_was_kept_as_json_goes_on_in_another_client() -> None:
    model = Scripted([says("one"), says("two")])
    options = AgentOptions(model="m", provider=model)
    async with Client(options) as client:
        assert [event.seq async for event in client.events("hi")]
        kept = json.dumps([message_to_json(message) for message in client.history])
        assert client.context_tokens == estimate_tokens(client.history)
    async with Client(options) as another:
        another.load_history(map(message_from_json, json.loads(kept)))
        assert [event.seq async for event in another.events("more")]
        assert [message.text for message in another.history] == ["hi", "one", "more", "two"]


def test_sizes_are_guessed_for_texts_and_messages() -> None:
    message = Message("user", (Text("x" * 400), Image("http://h/a.png")))
    assert estimate_tokens("x" * 400) == 100
    assert 1_100 <= estimate_tokens(message) <= 1_110
    assert estimate_tokens([message, message]) == 2 * estimate_tokens(message)
