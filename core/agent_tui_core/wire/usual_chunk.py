"""Owns the chunk that a model sends a thousand times: a piece of text and nothing else, read in one step.

Refuses every other chunk, also where it would mean the same: `chat_stream` reads those key by key. All keys
that it looks at stand here as empty; what stands nowhere, neither of the two reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from agent_tui_core.wire.sse import ServerSentEvent

_Empty: TypeAlias = Literal[""] | None
_None: TypeAlias = Annotated[list[None], msgspec.Meta(max_length=0)] | None


class _Delta(msgspec.Struct, gc=False):
    content: str
    refusal: _Empty = None
    reasoning: _Empty = None
    reasoning_content: _Empty = None
    reasoning_details: _None = None
    extra_content: None = None
    tool_calls: _None = None
    function_call: None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    index: Literal[0] | None = 0
    finish_reason: _Empty = None
    usage: None = None
    error: None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: tuple[_Choice]
    object: Literal["chat.completion.chunk"] | None = None
    type: None = None
    usage: None = None
    error: None = None
    x_groq: None = None
    base_resp: None = None


_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
_decode: Final = msgspec.json.Decoder(_Chunk).decode


def usual_texts(events: Iterator[ServerSentEvent]) -> tuple[list[str], ServerSentEvent | None]:
    """Take usual chunks; return their texts and the first event that is none, or None at the end."""
    texts: list[str] = []
    decode, found = _decode, texts.append
    event: ServerSentEvent | None = None
    try:
        for event in events:
            if event.event == "error" or not (text := decode(event.data).choices[0].delta.content):
                return texts, event
            found(text)
    except _UNREADABLE:
        return texts, event
    return texts, None


def usual_text(data: str) -> str:
    """Return the text of a usual chunk; nothing for any other data."""
    try:
        return _decode(data).choices[0].delta.content
    except _UNREADABLE:
        return ""
