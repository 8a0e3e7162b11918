"""Owns the JSON form of messages, blocks, usage and previews; refuses to lose anything on the way.

The standard library's JSON is used where lone surrogates, huge integers or non-finite numbers in a model's
arguments must come back as they were; a faster one for all else: megabytes of text must not hold up a key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Final, Literal, NoReturn, TypeAlias, TypeVar, get_args

import msgspec

from agent_tui_core.blocks import ContentBlock, Image, Json, JsonObject, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.errors import HistoryError
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.messages import Message, Role, StopReason, Usage

Detail: TypeAlias = Literal["auto", "low", "high"]
PreviewKind: TypeAlias = Literal["command", "diff", "text"]
Chosen = TypeVar("Chosen", bound=str)

_KEPT: Final = (Text, Reasoning, ToolUse, ToolResult, Image, Usage, ApprovalPreview)
_NAMES: Final = {kind: tuple(field.name for field in fields(kind)) for kind in _KEPT}


def to_json(value: object) -> str:
    """Return JSON text that SQLite can hold; HistoryError when the value has no JSON form."""
    with suppress(TypeError, ValueError, RecursionError):
        if _is_usual(value):
            return msgspec.json.encode(value).decode()
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                return json.dumps(value, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise HistoryError(f"this cannot be written as JSON, so nothing was kept: {error}") from error
    return text


def _is_usual(value: object) -> bool:
    """Whether every JSON writes this value alike."""
    match value:
        case bool() | str() | None:
            return True
        case int():
            return abs(value) < 2**53
        case dict():
            return all(type(key) is str and _is_usual(inner) for key, inner in value.items())
        case list() | tuple():
            return all(map(_is_usual, value))
        case _:
            return False


def message_form(message: Message) -> dict[str, object]:
    """The JSON form of a whole message."""
    return {
        "role": message.role,
        "blocks": blocks_form(message.blocks),
        "stop_reason": message.stop_reason,
        "usage": None if message.usage is None else usage_form(message.usage),
        "id": message.id,
    }


def blocks_form(blocks: Sequence[ContentBlock]) -> list[dict[str, object]]:
    """The JSON form of blocks: the fields of each, and `type`, the name of its class."""
    return [{"type": type(block).__name__} | _fields_form(block) for block in blocks]


def result_form(result: ToolResult) -> dict[str, object]:
    """The JSON form of a tool's result."""
    return _fields_form(result)


def usage_form(usage: Usage) -> dict[str, object]:
    """The JSON form of token counts."""
    return _fields_form(usage)


def preview_form(preview: ApprovalPreview) -> dict[str, object]:
    """The JSON form of a preview."""
    return _fields_form(preview)


def _fields_form(value: ContentBlock | Usage | ApprovalPreview) -> dict[str, object]:
    form: dict[str, object] = {name: getattr(value, name) for name in _NAMES[type(value)]}
    if isinstance(value, ToolResult):
        form["images"] = [_fields_form(image) for image in value.images]
    return form


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _damaged(where: str, name: str) -> Exception:
    return HistoryError(f"{where}: {name} cannot be read; the history was changed or damaged.")


class Fields:
    """Named values from disk, each checked when it is taken; `where` names their row for a person."""

    def __init__(
        self, where: str, values: Mapping[str, object], refused: Callable[[str, str], Exception] = _damaged
    ) -> None:
        """`refused` makes the error for a place and the name of a value there."""
        self.where = where
        self._values = values
        self._refused = refused

    def text(self, name: str) -> str:
        """The value as text; a blob is text with lone surrogates in it."""
        value = self._values.get(name)
        if isinstance(value, bytes):
            try:
                return value.decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                self.refuse(name)
        return value if isinstance(value, str) else self.refuse(name)

    def maybe_text(self, name: str) -> str | None:
        """The value as text, or None."""
        return None if self.absent(name) else self.text(name)

    def number(self, name: str) -> float:
        """The value as a number with a fraction."""
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(name)
        return float(value)

    def count(self, name: str) -> int:
        """The value as a whole number."""
        value = self._values.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else self.refuse(name)

    def maybe_count(self, name: str) -> int | None:
        """The value as a whole number, or None."""
        return None if self.absent(name) else self.count(name)

    def flag(self, name: str) -> bool:
        """The value as yes or no: JSON's, or SQLite's 1 and 0."""
        value = self._values.get(name)
        return bool(value) if value in (0, 1) else self.refuse(name)

    def one_of(self, name: str, choices: tuple[Chosen, ...]) -> Chosen:
        """The value as one of these words."""
        word = self.text(name)
        for choice in choices:
            if choice == word:
                return choice
        return self.refuse(name)

    def object(self, name: str) -> JsonObject:
        """The value as a JSON object."""
        value = self._values.get(name)
        return value if isinstance(value, dict) else self.refuse(name)

    def inner(self, name: str) -> Fields:
        """The JSON object under this name, to be taken apart in its turn."""
        return Fields(f"{self.where}, {name}", self.object(name), self._refused)

    def list_of(self, name: str) -> list[Fields]:
        """The JSON objects in the list under this name."""
        value = self._values.get(name)
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            self.refuse(name)
        return [
            Fields(f"{self.where}, {name}[{index}]", each, self._refused) for index, each in enumerate(value)
        ]

    def parsed(self, name: str) -> Fields:
        """The same name, its JSON text replaced by what the text means."""
        try:
            value: Json = json.loads(self.text(name))
        except (ValueError, RecursionError):
            self.refuse(name)
        return Fields(self.where, {name: value}, self._refused)

    def absent(self, name: str) -> bool:
        """Whether nothing is kept under this name."""
        return self._values.get(name) is None

    def refuse(self, name: str) -> NoReturn:
        """Raise for this value: HistoryError, unless another was named."""
        raise self._refused(self.where, name)


def message_of(source: Fields) -> Message:
    """Read a whole message; HistoryError names what is wrong."""
    return Message(
        role=source.one_of("role", get_args(Role)),
        blocks=blocks_of(source),
        stop_reason=stop_reason_of(source),
        usage=None if source.absent("usage") else usage_of(source.inner("usage")),
        id=source.text("id"),
    )


def stop_reason_of(source: Fields) -> StopReason | None:
    """Read `stop_reason`, if there is one."""
    if source.absent("stop_reason"):
        return None
    reason: StopReason = source.one_of("stop_reason", get_args(StopReason))
    return reason


def blocks_of(source: Fields) -> tuple[ContentBlock, ...]:
    """Read the list `blocks`."""
    return tuple(_block_of(each) for each in source.list_of("blocks"))


def _block_of(source: Fields) -> ContentBlock:
    match source.text("type"):
        case "Text":
            return Text(source.text("text"))
        case "Reasoning":
            return Reasoning(source.text("text"), source.object("opaque"))
        case "ToolUse":
            return ToolUse(
                id=source.text("id"),
                name=source.text("name"),
                input=source.object("input"),
                broken=source.maybe_text("broken"),
                raw=source.text("raw"),
                opaque=source.object("opaque"),
            )
        case "ToolResult":
            return result_of(source)
        case "Image":
            return _image_of(source) or Text(_LOST_PICTURE)
        case _:
            return source.refuse("type")


def result_of(source: Fields) -> ToolResult:
    """Read a tool's result."""
    return ToolResult(
        tool_use_id=source.text("tool_use_id"),
        content=source.text("content"),
        is_error=source.flag("is_error"),
        images=tuple(filter(None, map(_image_of, source.list_of("images")))),
    )


_LOST_PICTURE = "(a picture that cannot be shown to a model)"


def _image_of(source: Fields) -> Image | None:
    """Read a picture; None for an address that no model may be sent: it ends no conversation."""
    url, detail = source.text("url"), source.one_of("detail", get_args(Detail))
    try:
        return Image(url, detail)
    except ValueError:
        return None


def usage_of(source: Fields) -> Usage:
    """Read token counts."""
    return Usage(**{field.name: source.maybe_count(field.name) for field in fields(Usage)})


def preview_of(source: Fields) -> ApprovalPreview:
    """Read a preview."""
    return ApprovalPreview(
        kind=source.one_of("kind", get_args(PreviewKind)),
        content=source.text("content"),
        path=source.maybe_text("path"),
    )
