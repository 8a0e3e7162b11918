"""Owns the way from what an MCP server answered to what a model reads; refuses to fetch what is only named.

Text and pictures are kept, within bounds; sound and files are named.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from typing import TYPE_CHECKING, Final

from agent_tui_core.blocks import Image
from agent_tui_core.processes.output import KeptOutput
from agent_tui_core.text import safe_line
from agent_tui_core.tools.base import ToolOutput

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock, ResourceLink

PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
MOST_PICTURES: Final = 8
LARGEST_PICTURE: Final = 4 * 2**20
"""Bytes of one picture."""

_NAMED = 300
_MOST_PARTS = 1_000


async def as_tool_output(result: CallToolResult) -> ToolOutput:
    """Read a result. What is too long for a model is cut in its middle and stands in a file that it names."""
    return await asyncio.to_thread(_read, result)


def _read(result: CallToolResult) -> ToolOutput:
    parts = _Parts()
    for block in result.content[:_MOST_PARTS]:
        parts.take(block)
    left = len(result.content) - _MOST_PARTS
    if left > 0:
        parts.texts.append(f"[{left:,} more parts are left out]")
    if not parts.said and result.structured_content is not None:
        parts.texts.append(json.dumps(result.structured_content, ensure_ascii=False, default=str))
    return ToolOutput(_bounded("\n".join(parts.texts)), result.is_error, tuple(parts.pictures))


class _Parts:
    """What was read so far."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.pictures: list[Image] = []
        self.said = False
        """There is text of the server's own."""

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
                if hasattr(block.resource, "text"):
                    self.said = True
                    self.texts.append(f"[{_cut(block.resource.uri)}]\n{block.resource.text}")
                else:
                    self._blob(block.resource)

    def _blob(self, resource: BlobResourceContents) -> None:
        if resource.mime_type in PICTURES:
            self._picture(resource.blob, resource.mime_type, _cut(resource.uri))
        else:
            self._name(_cut(resource.uri), resource.mime_type or "", resource.blob)

    def _picture(self, data: str, media_type: str, name: str) -> None:
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

    def _name(self, name: str, media_type: str, data: str) -> None:
        about = f"{_cut(media_type)}, " if media_type else ""
        self.texts.append(f"[{name}: {about}{len(data) * 3 // 4:,} bytes, not shown]")


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
