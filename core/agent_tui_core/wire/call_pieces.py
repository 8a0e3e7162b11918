"""Owns which call a piece of a tool call belongs to, and what it adds; refuses to read arguments.

Servers number their calls, name them, repeat themselves or do none of it: the rules P3 to P6 settle it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Final

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.events import ToolUseDelta
from agent_tui_core.messages import new_id
from agent_tui_core.records import dataclass
from agent_tui_core.wire.json_text import place_in
from agent_tui_core.wire.partial_json import parse_arguments
from agent_tui_core.wire.surrogates import HalfKeeper, mended, mended_object

_SENT_BACK: Final = ("extra_content", "thought_signature", "provider_specific_fields")
"""Fields of a call that its provider wants back unread."""
_LEGACY: Final = "function_call"
_CUSTOM_BEGIN: Final = '{"input": "'
_CUSTOM_END: Final = '"}'


@dataclass(slots=True)
class _Call:
    place: int
    id: str
    wire_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    half: HalfKeeper = field(default_factory=HalfKeeper)
    is_custom: bool = False
    """Its input is free text, which becomes `{"input": …}`, piece by piece."""


class CallPieces:
    """All calls of one answer, in the order in which they began."""

    def __init__(self, tool_names: Collection[str]) -> None:
        self._tool_names = frozenset(tool_names)
        self._calls: list[_Call] = []
        self._by_index: dict[int | str, _Call] = {}
        self._by_wire_id: dict[str, _Call] = {}
        self._ids: set[str] = set()
        self._last: _Call | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def feed(self, delta: JsonObject) -> list[ToolUseDelta]:
        """Read `tool_calls` of a delta, or the `function_call` that older servers send."""
        pieces, legacy = delta.get("tool_calls"), delta.get(_LEGACY)
        if isinstance(pieces, list) and pieces:
            read = [
                self._take(place_in(piece.get("index")), piece) for piece in pieces if isinstance(piece, dict)
            ]
        elif isinstance(legacy, dict):
            read = [self._take(_LEGACY, {"function": legacy})]
        else:
            return []
        return [event for event in read if event is not None]

    def close(self) -> Iterator[ToolUseDelta]:
        """Return what waited for the other half of a character."""
        for call in self._calls:
            if last := call.half.close() + (_CUSTOM_END if call.is_custom else ""):
                yield ToolUseDelta(call.place, call.id, call.name, last)

    def _take(self, index: int | str | None, piece: JsonObject) -> ToolUseDelta | None:
        custom = piece.get("custom")
        function = custom if isinstance(custom, dict) else piece.get("function")
        function = function if isinstance(function, dict) else {}
        name = mended(_string(function.get("name"))).strip()
        arguments = _argument_text(function.get("arguments"))
        opaque = mended_object({key: piece[key] for key in _SENT_BACK if piece.get(key) is not None})
        wire_id = _string(piece.get("id"))
        if index is None and not (wire_id or name or arguments or opaque):
            return None
        call = self._call(index, wire_id, name)
        if wire_id and not call.wire_id:
            self._adopt(call, wire_id)
        call.name = self._joined(call.name, name)
        if function is custom:
            arguments = _custom_text(call, custom.get("input"))
        arguments = call.half.feed(arguments)
        if arguments:
            call.arguments.append(arguments)
        self._last = call
        return ToolUseDelta(call.place, call.id, call.name, arguments, opaque or None)

    def _call(self, index: int | str | None, wire_id: str, name: str) -> _Call:
        """Find the call that a piece belongs to, or begin one."""
        if index is not None:
            call = self._by_index.get(index)
            if call is None or self._begins_another(call, wire_id, name):
                call = self._by_index[index] = self._begin()
            return call
        if wire_id:
            return self._by_wire_id.get(wire_id) or self._begin()
        return self._begin() if name or self._last is None else self._last

    def _begins_another(self, call: _Call, wire_id: str, name: str) -> bool:
        """Whether a piece on a used index is the start of the next call."""
        if not name:
            return False
        if wire_id and call.wire_id:
            return wire_id != call.wire_id
        other = name != call.name and name in self._tool_names
        if wire_id:
            return other or bool(call.arguments)
        return other and self._joined(call.name, name) == call.name and self._is_whole(call)

    def _is_whole(self, call: _Call) -> bool:
        raw = "".join(call.arguments)
        return bool(raw.strip()) and parse_arguments(raw)[1] is None

    def _begin(self) -> _Call:
        call = _Call(len(self._calls), f"call_{new_id()[:24]}")
        self._calls.append(call)
        self._ids.add(call.id)
        return call

    def _adopt(self, call: _Call, wire_id: str) -> None:
        """Give a call the id that its provider knows, unless another call of the answer has it already."""
        call.wire_id = wire_id
        self._by_wire_id[wire_id] = call
        sendable = mended(wire_id)
        if sendable not in self._ids:
            self._ids.add(sendable)
            call.id = sendable

    def _joined(self, name: str, piece: str) -> str:
        if not name or not piece or piece == name:
            return name or piece
        joined = name + piece
        return joined if any(known.startswith(joined) for known in self._tool_names) else name


def _custom_text(call: _Call, value: Json) -> str:
    """Return the next piece of `{"input": …}`; escaped, so that halves of characters meet in it again."""
    begin = "" if call.is_custom else _CUSTOM_BEGIN
    call.is_custom = True
    return begin + json.dumps(_argument_text(value))[1:-1]


def _string(value: Json) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _argument_text(value: Json) -> str:
    """Return arguments as JSON text, whether they came as text or as a value; null says nothing."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)
