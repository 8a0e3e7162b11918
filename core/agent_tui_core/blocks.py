"""Owns the content blocks that messages are made of; refuses behaviour: they are values."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agent_tui_core.records import dataclass
from agent_tui_core.regular_file import read_regular

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

_NOTHING: JsonObject = {}


@dataclass(frozen=True, slots=True)
class Text:
    """Words of the user or the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What the model thought aloud, and what its provider wants back unread."""

    text: str
    opaque: JsonObject = field(default_factory=lambda: _NOTHING)
    """Provider fields (encrypted reasoning, signatures) to send back unchanged."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model's wish to call a tool."""

    id: str
    """The provider's own id, sent back unchanged; it may repeat over turns, so it is never a key of ours."""
    name: str
    input: JsonObject
    """The arguments; `{}` when they could not be understood, see `broken`."""
    broken: str | None = None
    """Why the arguments could not be understood; such a call never runs."""
    raw: str = ""
    """The arguments as they arrived, kept when `broken`."""
    opaque: JsonObject = field(default_factory=lambda: _NOTHING)
    """Provider fields (thought signatures) to send back unchanged."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of one tool use; answers the `ToolUse` with the same id."""

    tool_use_id: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a user message: an http(s) URL or a `data:` URL. Raises ValueError for anything else."""

    url: str
    detail: Literal["auto", "low", "high"] = "auto"

    def __post_init__(self) -> None:
        """Check what a provider would refuse, or worse: fetch from where it stands."""
        if problem := _image_problem(self.url):
            raise ValueError(f"not a picture: {problem}")
        if self.detail not in _DETAILS:
            raise ValueError(f"detail: should be one of {', '.join(_DETAILS)}, not {self.detail!r}")

    @classmethod
    def from_base64(
        cls, data: str, media_type: str, *, detail: Literal["auto", "low", "high"] = "auto"
    ) -> Image:
        """Make an image of base64 text; raises ValueError for another media type and for what is none."""
        if not media_type.startswith("image/"):
            raise ValueError(f"not an image type: {media_type!r}")
        return cls(f"data:{media_type};base64,{data}", detail)

    @classmethod
    def from_file(cls, path: str | Path, *, detail: Literal["auto", "low", "high"] = "auto") -> Image:
        """Read a picture from disk; raises OSError, or ValueError when the suffix is no image's."""
        media_type = mimetypes.guess_type(str(path))[0] or ""
        return cls.from_base64(
            base64.b64encode(read_regular(Path(path))).decode(), media_type or "unknown", detail=detail
        )


_DETAILS: Final = ("auto", "low", "high")
_WEB: Final = re.compile(r"https?://[^/?#\s]+[^\s\x00-\x1f]*", re.IGNORECASE)
_HEAD: Final = re.compile(r"data:image/[\w.+-]{1,60};base64,", re.IGNORECASE)


def _image_problem(url: object) -> str | None:
    """Why this is no address of a picture, or None; quotes its beginning only: it may be long or secret."""
    if not isinstance(url, str):
        return f"its address is a {type(url).__name__}, not a text"
    if _WEB.fullmatch(url):
        return None
    head = _HEAD.match(url)
    if head is None:
        scheme = url[:40].partition(":")[0]
        return f"its address should begin with http://, https:// or data:image/…;base64, not {scheme[:20]!r}"
    try:
        picture = binascii.a2b_base64(url[head.end() :].encode("ascii"), strict_mode=True)
    except ValueError as error:
        return f"what stands in its data: address is no base64 ({error})"
    return None if picture else "there is nothing in its data: address"


ContentBlock: TypeAlias = Text | Reasoning | ToolUse | ToolResult | Image
