"""Owns the way from what an MCP server answered to what a model reads; refuses to fetch what is only named.

Text and pictures are kept, within bounds, each once; sound and files are named.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from agent_tui_core.blocks import Image
from agent_tui_core.processes.output import KeptOutput
from agent_tui_core.text import safe_line
from agent_tui_core.tools.base import ToolOutput

if TYPE_CHECKING:
    from mcp_types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        ReadResourceResult,
        ResourceLink,
        TextResourceContents,
    )

PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
MOST_PICTURES: Final = 8
LARGEST_PICTURE: Final = 4 * 2**20
"""Bytes of one picture."""

_NAMED = 300
_SHOWN = "(given as a part of its own)"
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/toml")
_BLOCKS = ("image", "audio", "resource")
_LEAST_DATA = 64
_MOST_DATA = 32
_MOST_PARTS = 1_000


async def as_tool_output(result: CallToolResult) -> ToolOutput:
    """Read a result. What is too long for a model is cut in its middle and stands in a file that it names."""
    return await asyncio.to_thread(_read, result)


async def as_resource_output(result: ReadResourceResult) -> ToolOutput:
    """Read what a resource holds, as a result is read."""
    return await asyncio.to_thread(_read_resource, result)


async def bounded_output(text: str) -> ToolOutput:
    """Give a text of ours as a result is given."""
    return ToolOutput(await asyncio.to_thread(_bounded, text))


def _read(result: CallToolResult) -> ToolOutput:
    parts = _Parts()
    for block in result.content[:_MOST_PARTS]:
        parts.take(block)
    parts.leave_out(len(result.content) - _MOST_PARTS)
    if not parts.said and result.structured_content is not None:
        parts.take_structured(result.structured_content)
    return parts.output(is_error=result.is_error)


def _read_resource(result: ReadResourceResult) -> ToolOutput:
    parts = _Parts()
    for resource in result.contents[:_MOST_PARTS]:
        parts.take_resource(resource)
    parts.leave_out(len(result.contents) - _MOST_PARTS)
    return parts.output()


class _Parts:
    """What was read so far."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.pictures: list[Image] = []
        self.said = False
        """There is text of the server's own."""
        self._data: set[str] = set()
        """What was taken as bytes: a model has no use for its base64."""

    def output(self, *, is_error: bool = False) -> ToolOutput:
        """All of it."""
        text = "\n".join(self.texts)
        for data in self._data:
            text = text.replace(data, _SHOWN)
        return ToolOutput(_bounded(text), is_error, tuple(self.pictures))

    def take(self, block: ContentBlock) -> None:
        match block.type:
            case "text":
                self.said = True
                self.texts.append(block.text)
            case "image":
                self._picture(block.data, block.mime_type, "a picture")
            case "audio":
                self._name("sound", block.mime_type, block.data)
            case "resource_link":
                self.texts.append(_link(block))
            case "resource":
                self.take_resource(block.resource)

    def take_resource(self, resource: TextResourceContents | BlobResourceContents) -> None:
        """Text of a resource, or its bytes."""
        if hasattr(resource, "text"):
            self.said = True
            self.texts.append(f"[{_cut(resource.uri)}]\n{resource.text}")
        else:
            self._blob(resource)

    def take_structured(self, content: Any) -> None:
        """The same result as data, unless it only says again what the other parts say."""
        try:
            new = _unsaid(content, self._data)
        except RecursionError:
            new = content
        if new is not _SHOWN:
            self.texts.append(json.dumps(new, ensure_ascii=False, default=str))

    def leave_out(self, more: int) -> None:
        """Say how many parts are too many."""
        if more > 0:
            self.texts.append(f"[{more:,} more parts are left out]")

    def _blob(self, resource: BlobResourceContents) -> None:
        if resource.mime_type in PICTURES:
            self._picture(resource.blob, resource.mime_type, _cut(resource.uri))
        elif (text := _text_in(resource)) is not None:
            self.said = True
            self.texts.append(f"[{_cut(resource.uri)}]\n{text}")
        else:
            self._name(_cut(resource.uri), resource.mime_type or "", resource.blob)

    def _picture(self, data: str, media_type: str, name: str) -> None:
        self._know(data)
        if media_type not in PICTURES or len(self.pictures) >= MOST_PICTURES:
            self._name(name, media_type, data)
            return
        try:
            size = len(base64.b64decode(data, validate=True))
        except (binascii.Error, ValueError):
            self.texts.append(f"[{name} that is no valid base64]")
            return
        if size > LARGEST_PICTURE:
            self._name(name, media_type, data)
            return
        self.pictures.append(Image.from_base64(data, media_type))

    def _know(self, data: str) -> None:
        if len(data) >= _LEAST_DATA and len(self._data) < _MOST_DATA:
            self._data.add(data)

    def _name(self, name: str, media_type: str, data: str) -> None:
        self._know(data)
        about = f"{_cut(media_type)}, " if media_type else ""
        self.texts.append(f"[{name}: {about}{len(data) * 3 // 4:,} bytes, not shown]")


def _text_in(resource: BlobResourceContents) -> str | None:
    """Text that a server sent as bytes; None when it is none, whatever it is called."""
    kind = (resource.mime_type or "").partition(";")[0].strip().lower()
    if not kind.startswith("text/") and kind not in _TEXTS:
        return None
    try:
        return base64.b64decode(resource.blob, validate=True).decode()
    except ValueError:
        return None


def _unsaid(value: Any, data: Collection[str]) -> Any:
    """What remains of structured content when bytes that other parts brought are taken out of it."""
    match value:
        case str():
            return _SHOWN if value.rpartition(";base64,")[2] in data else value
        case dict():
            new = {key: _unsaid(one, data) for key, one in value.items()}
            shown = [key for key, one in new.items() if one is _SHOWN]
            block = value.get("type") in _BLOCKS or "blob" in shown
            return _SHOWN if shown and (block or len(shown) == len(new)) else new
        case list():
            items = [_unsaid(one, data) for one in value]
            return _SHOWN if items and all(one is _SHOWN for one in items) else items
        case _:
            return value


def _link(link: ResourceLink) -> str:
    words = [f"[resource {_cut(link.name)}: {_cut(link.uri)}"]
    if link.mime_type:
        words.append(f" ({_cut(link.mime_type)})")
    if link.description:
        words.append(f" {_cut(link.description)}")
    return "".join(words) + "]"


def _cut(foreign: object) -> str:
    line = safe_line(str(foreign)[: 4 * _NAMED])
    return line if len(line) <= _NAMED else f"{line[: _NAMED - 1]}…"


def _bounded(text: str) -> str:
    kept = KeptOutput()
    kept.feed(text.encode(errors="replace"))
    kept.close()
    return kept.text()
