"""Owns the making of one message out of stream events: blocks in the order in which they began.

Refuses to hand out a call of an answer that did not end well: cut arguments can still parse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final, TypeAlias, assert_never

from agent_tui_core.blocks import ContentBlock, Json, JsonObject, Reasoning, Text, ToolUse
from agent_tui_core.events import (
    AnswerEnded,
    ReasoningDelta,
    RequestQueued,
    StreamEvent,
    TextDelta,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.messages import Message, StopReason, Usage, new_id
from agent_tui_core.records import dataclass
from agent_tui_core.wire.opaque import is_tagged
from agent_tui_core.wire.partial_json import parse_arguments

_BROKEN_OFF: Final = frozenset({"interrupted", "error"})
_CUT: Final = frozenset({"length", "content_filter"})
_DETAILS: Final = "reasoning_details"
_GROWING: Final = ("text", "summary")


@dataclass(slots=True)
class _Words:
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Thought:
    pieces: list[str] = field(default_factory=list)
    opaque: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    opaque: dict[str, Json] = field(default_factory=dict)
    more_ids: list[str] = field(default_factory=list)
    """Ids for the further objects in the arguments: made once, so that every `message()` is the same."""


_Part: TypeAlias = _Words | _Thought | _Call


class Accumulator:
    """One answer that grows by stream events; the pieces are joined when `message` is asked for."""

    def __init__(self) -> None:
        self.started = False
        """Anything but usage came."""
        self.ended: AnswerEnded | None = None
        self.usage = Usage()
        self._id = new_id()
        self._queued = False
        self._parts: list[_Part] = []
        self._calls: dict[int, _Call] = {}
        self._prose: _Words | _Thought | None = None
        """The text or reasoning that the next piece of its kind continues."""

    def add(self, event: StreamEvent) -> None:
        """Take the next event. What comes after `AnswerEnded` is ignored, usage excepted."""
        if isinstance(event, UsageReported):
            self.usage = self.usage.maximum(event.usage)
            return
        if self.ended is not None:
            return
        if not self.started:
            if isinstance(event, RequestQueued):
                self._queued = event.ahead is not None
                return
            self.started = True
        match event:
            case TextDelta(text):
                if text:
                    self._words().pieces.append(text)
            case ReasoningDelta(text, opaque):
                self._think(text, opaque)
            case ToolUseDelta():
                self._call(event)
            case AnswerEnded():
                self.ended = event
            case RequestQueued():
                pass
            case _:
                assert_never(event)

    @property
    def spoken(self) -> bool:
        """Whether text came that a person could read; reasoning and calls are none."""
        return any(isinstance(part, _Words) and "".join(part.pieces).strip() for part in self._parts)

    def progress(self) -> object:
        """What came so far, to be compared: it is another one when anything was said since."""
        if self._queued:  # nothing can come yet, and that is nobody's silence
            return object()
        pieces = sum(len(part.pieces) for part in self._parts)
        return pieces, len(self._parts), self.usage, self.ended

    def message(self, *, stop_reason: StopReason | None = None) -> Message | None:
        """Return what came as a message; None when there is nothing to keep.

        `stop_reason` overrides the provider's; without both it is `error`. An answer that was interrupted or
        broke has no calls in it. One that was cut by the provider (`length`, `content_filter`) has its calls,
        all of them `broken`.
        """
        reason = stop_reason or (self.ended.stop_reason if self.ended else "error")
        parts = self._parts
        if self.ended is None or reason in _BROKEN_OFF:
            parts = [part for part in parts if not isinstance(part, _Call)]
            if not any(_is_worth_keeping(part) for part in parts):
                return None
        why = f"the answer was cut off before this call was whole ({reason})" if reason in _CUT else None
        blocks = tuple(block for part in parts for block in _blocks(part, cut=why))
        usage = None if self.usage == Usage() else self.usage
        return Message("assistant", blocks, reason, usage, self._id) if blocks else None

    def _words(self) -> _Words:
        if not isinstance(self._prose, _Words):
            self._prose = _Words()
            self._parts.append(self._prose)
        return self._prose

    def _think(self, text: str, opaque: JsonObject | None) -> None:
        if text:
            if not isinstance(self._prose, _Thought):
                self._prose = _Thought()
                self._parts.append(self._prose)
            self._prose.pieces.append(text)
        if opaque and is_tagged(opaque):
            self._end_thought(opaque)
        elif opaque:
            _merge(self._thought().opaque, opaque)

    def _end_thought(self, opaque: JsonObject) -> None:
        """Take what makes one block of the wire whole; the next piece of reasoning begins another block."""
        if not isinstance(self._prose, _Thought):
            self._parts.append(thought := _Thought())
            self._prose = thought
        _merge(self._prose.opaque, opaque)
        self._prose = None

    def _thought(self) -> _Thought:
        """Return the latest reasoning: what a provider wants back belongs to it, even when it comes later."""
        for part in reversed(self._parts):
            if isinstance(part, _Thought):
                return part
        thought = _Thought()
        self._parts.append(thought)
        if self._prose is None:
            self._prose = thought
        return thought

    def _call(self, event: ToolUseDelta) -> None:
        call = self._calls.get(event.call)
        if call is None:
            call = self._calls[event.call] = _Call(event.id, event.name)
            self._parts.append(call)
            self._prose = None
        call.id, call.name = event.id, event.name
        if event.arguments:
            call.pieces.append(event.arguments)
        if event.opaque:
            _merge(call.opaque, event.opaque)


def _is_worth_keeping(part: _Part) -> bool:
    return bool("".join(part.pieces).strip()) or (isinstance(part, _Thought) and bool(part.opaque))


def _blocks(part: _Part, *, cut: str | None) -> Iterator[ContentBlock]:
    match part:
        case _Words():
            yield Text(_joined(part.pieces))
        case _Thought():
            yield Reasoning(_joined(part.pieces), _compact(part.opaque))
        case _Call():
            yield from _uses(part, cut)
        case _:
            assert_never(part)


def _uses(call: _Call, cut: str | None) -> Iterator[ToolUse]:
    """Return the calls that one call of the wire means: one for each object in its arguments."""
    raw = _joined(call.pieces)
    inputs, broken = ([], cut) if cut else parse_arguments(raw)
    if not call.name:
        inputs, broken = [], cut or "the call names no tool"
    if broken is not None:
        yield ToolUse(call.id, call.name, {}, broken, raw, dict(call.opaque))
        return
    while len(call.more_ids) < len(inputs) - 1:
        call.more_ids.append(f"call_{new_id()[:24]}")
    yield ToolUse(call.id, call.name, inputs[0], opaque=dict(call.opaque))
    for id_, value in zip(call.more_ids, inputs[1:], strict=False):
        yield ToolUse(id_, call.name, value)


def _joined(pieces: list[str]) -> str:
    if len(pieces) > 1:
        pieces[:] = ["".join(pieces)]
    return pieces[0] if pieces else ""


def _merge(into: dict[str, Json], opaque: JsonObject) -> None:
    """Add provider fields that came later: lists grow, objects are merged, anything else is replaced."""
    for key, value in opaque.items():
        known = into.get(key)
        if isinstance(value, Mapping):
            inner = dict(known) if isinstance(known, Mapping) else {}
            _merge(inner, value)
            into[key] = inner
        elif isinstance(value, list):
            into[key] = [*known, *value] if isinstance(known, list) else list(value)
        else:
            into[key] = value


def _compact(opaque: JsonObject) -> JsonObject:
    """Join the pieces of structured reasoning: its provider wants whole entries back."""
    details = opaque.get(_DETAILS)
    if not isinstance(details, list):
        return dict(opaque)
    runs: list[list[JsonObject]] = []
    for entry in details:
        if not isinstance(entry, Mapping):
            continue
        if runs and _continues(runs[-1][-1], entry):
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return {**opaque, _DETAILS: [_whole_entry(run) for run in runs]}


def _continues(last: JsonObject, entry: JsonObject) -> bool:
    """Whether an entry goes on with the text of the one before it; encrypted entries are always whole."""
    if not any(key in entry or key in last for key in _GROWING) or last.get("signature"):
        return False
    if any(last.get(key) != entry.get(key) for key in ("type", "index")):
        return False
    return not (last.get("id") and entry.get("id")) or last["id"] == entry["id"]


def _whole_entry(run: list[JsonObject]) -> JsonObject:
    whole: dict[str, Json] = {}
    for entry in run:
        whole.update({key: value for key, value in entry.items() if value is not None or key not in whole})
    for key in _GROWING:
        pieces = [text for entry in run if isinstance(text := entry.get(key), str)]
        if pieces:
            whole[key] = "".join(pieces)
    return whole
