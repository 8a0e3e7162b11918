"""Owns cassettes: one exchange with a model's server as one private file; refuses to send or to play.

A file is lines of JSON: the head, a line for each piece of the body with its time, and how the body ended.
Nothing that could be a secret is kept: of the headers only those on a list, of an address no query, and the
key of the request is blacked out wherever it appears.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import httpx
import msgspec

from agent_tui_core.errors import ConfigError
from agent_tui_core.providers.http import secrets_of
from agent_tui_core.records import dataclass
from agent_tui_core.regular_file import read_regular
from agent_tui_core.text import safe_line

End: TypeAlias = Literal["whole", "cut", "broken"]
"""All came; we hung up before that; the connection broke."""

FORMAT: Final = 1
SUFFIX: Final = ".cassette"
MOST_BYTES: Final = 64 * 2**20
"""What is kept of one body; a longer one is kept as cut."""
_KEPT_OF_REQUEST: Final = frozenset({"accept", "anthropic-version", "content-type", "user-agent"})
_KEPT_OF_RESPONSE: Final = re.compile(
    r"content-type|content-encoding|date|retry-after(?:-ms)?|server|(?:x-)?request-id|\w+-ratelimit-[\w-]+"
)
_NUMBER: Final = re.compile(r"(\d+)-")


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """Some bytes of a body, and when they came."""

    at: float
    """Seconds since the request was made."""
    data: str
    encoding: Literal["text", "base64"] = "text"

    def bytes(self) -> bytes:
        """What came; raises ValueError for base64 that is none."""
        if self.encoding == "text":
            return self.data.encode()
        try:
            return base64.b64decode(self.data, validate=True)
        except binascii.Error as error:
            raise ValueError("a piece of it is no base64") from error


class Head(msgspec.Struct, frozen=True):
    """What was asked, and the beginning of what was answered."""

    format: int
    method: str
    url: str
    request_headers: dict[str, str]
    request: Any
    """The body as JSON; None when there was none."""
    status: int
    headers: dict[str, str]
    at: float
    """Seconds from the request to the status."""


class _Tail(msgspec.Struct, frozen=True):
    end: End
    at: float


@dataclass(frozen=True, slots=True)
class Cassette:
    """One exchange as it was recorded."""

    file: Path
    head: Head
    pieces: tuple[Piece, ...]
    end: End


@dataclass(slots=True)
class Tape:
    """A cassette while it is recorded; `keep` writes it."""

    request: httpx.Request
    response: httpx.Response
    began: float
    """`time.monotonic()` when the request was made."""
    answered: float = field(default_factory=time.monotonic)
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    size: int = 0

    def add(self, data: bytes) -> None:
        """Keep a piece with the time it came at."""
        self.size += len(data)
        if self.size <= MOST_BYTES:
            self.pieces.append((time.monotonic() - self.began, data))

    def keep(self, folder: Path, end: End) -> Path:
        """Write the file; raises OSError."""
        keys = [secret.encode("latin-1") for secret in secrets_of(self.request)]
        body = self.request.content.decode("utf-8", "replace")
        for key in keys:
            body = body.replace(key.decode("latin-1"), "(key)")
        head = Head(
            FORMAT,
            self.request.method,
            str(self.request.url.copy_with(query=None, fragment=None, username=None, password=None)),
            _kept(self.request.headers, _KEPT_OF_REQUEST.__contains__),
            json.loads(body) if body else None,
            self.response.status_code,
            _kept(self.response.headers, _KEPT_OF_RESPONSE.fullmatch),
            self.answered - self.began,
        )
        tail = _Tail("cut" if self.size > MOST_BYTES else end, time.monotonic() - self.began)
        pieces = [_piece(at, data) for at, data in _blacked_out(self.pieces, keys)]
        lines = [msgspec.json.encode(line) for line in (head, *pieces, tail)]
        return _write(folder, conversation_hash(head.request)[:8], b"\n".join([*lines, b""]))


def make_folder(folder: Path) -> None:
    """Make the folder for its owner alone, unless it is there; raises `ConfigError`."""
    try:
        for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            missing.mkdir(0o700, exist_ok=True)
            missing.chmod(0o700)
        if not os.access(folder, os.W_OK | os.X_OK) or not folder.is_dir():
            raise PermissionError(None, "it is no folder that can be written to")
    except OSError as error:
        raise ConfigError(
            f"nothing can be recorded in {safe_line(str(folder))}: {error.strerror}", key="--record"
        ) from error


def read_folder(folder: Path) -> list[Cassette]:
    """Read all cassettes, in the order in which they were recorded; raises `ConfigError`."""
    try:
        files = sorted((each for each in folder.iterdir() if each.suffix == SUFFIX), key=_number)
        found = [_read(file) for file in files]
    except OSError as error:
        raise ConfigError(
            f"{safe_line(str(folder))} cannot be read: {error.strerror}", key="--replay"
        ) from error
    if not found:
        raise ConfigError(f"there is no cassette in {safe_line(str(folder))}", key="--replay")
    return found


def conversation_hash(body: object) -> str:
    """What two requests have in common that a model would answer alike: the model and the messages."""
    asked = [body.get("model") if isinstance(body, Mapping) else None, *messages(body)]
    written = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(written.encode()).hexdigest()


def messages(body: object) -> Sequence[object]:
    """The messages of a request in any protocol, without the system's: they name the workspace."""
    said = body.get("messages") or body.get("input") or () if isinstance(body, Mapping) else ()
    if not isinstance(said, list):
        return [said] if said else []
    return [each for each in said if not (isinstance(each, Mapping) and each.get("role") == "system")]


# --- files --------------------------------------------------------------------------------------------------


def _read(file: Path) -> Cassette:
    try:
        first, *rest = read_regular(file).splitlines()
        head = msgspec.json.decode(first, type=Head)
        if head.format != FORMAT:
            raise ValueError(f"its format is {head.format}, this program reads {FORMAT}")
        pieces = tuple(msgspec.json.decode(line, type=Piece) for line in rest if line.startswith(b"["))
        tails = [msgspec.json.decode(line, type=_Tail) for line in rest if line.startswith(b"{")]
        for piece in pieces:
            piece.bytes()
    except (ValueError, msgspec.MsgspecError) as error:
        raise ConfigError(
            f"{safe_line(str(file))} is no cassette: {safe_line(str(error))}", key="--replay"
        ) from error
    return Cassette(file, head, pieces, tails[-1].end if tails else "cut")


def _number(file: Path) -> tuple[int, str]:
    found = _NUMBER.match(file.name)
    return (int(found[1]) if found else 0, file.name)


def _write(folder: Path, name: str, content: bytes) -> Path:
    """Write a new private file behind those that are there, whoever else records beside us."""
    number = max((_number(file)[0] for file in folder.glob(f"*{SUFFIX}")), default=0)
    while True:
        number += 1
        file = folder / f"{number:05}-{name}{SUFFIX}"
        if any(folder.glob(f"{number:05}-*{SUFFIX}")):
            continue
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as opened:
            os.fchmod(opened.fileno(), 0o600)
            opened.write(content)
        return file


# --- secrets ------------------------------------------------------------------------------------------------


def _kept(headers: httpx.Headers, wanted: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items() if wanted(name.lower())}


def _blacked_out(pieces: list[tuple[float, bytes]], keys: list[bytes]) -> list[tuple[float, bytes]]:
    """The same pieces, of the same sizes, with each key in them crossed out, also where pieces meet."""
    whole = b"".join(data for _, data in pieces)
    for key in keys:
        whole = whole.replace(key, b"x" * len(key))
    blacked, start = [], 0
    for at, data in pieces:
        blacked.append((at, whole[start : start + len(data)]))
        start += len(data)
    return blacked


def _piece(at: float, data: bytes) -> Piece:
    try:
        return Piece(round(at, 4), data.decode())
    except UnicodeDecodeError:
        return Piece(round(at, 4), base64.b64encode(data).decode(), "base64")
