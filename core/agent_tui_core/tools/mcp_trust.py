"""Owns what the person knows of a server: its definition and its tools, by hash; refuses to decide a call.

The first list of a server is what the person accepts by using it. Another one is not, until they say so.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from agent_tui_core.errors import AgentTuiError
from agent_tui_core.records import dataclass
from agent_tui_core.regular_file import open_regular
from agent_tui_core.text import safe_line
from agent_tui_core.tools.mcp_values import ListedTool, ServerSpec

FILE: Final = "mcp-servers.json"

_VERSION = 1
_MOST_ACCEPTED = 16
"""Lists of one server that count at once: it may offer other tools in other projects."""
_LARGEST_FILE = 8 * 2**20
_NAMED = 4


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What one server is: its definition and all that it says of its tools."""

    server: str
    definition: str
    tools: Mapping[str, str]
    """Name → hash."""

    @property
    def key(self) -> str:
        """A short hash of all of it."""
        said = json.dumps([self.server, self.definition, sorted(self.tools.items())])
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    @classmethod
    def of(cls, spec: ServerSpec, tools: Sequence[ListedTool]) -> Fingerprint:
        """Take it of a server whose tools were listed."""
        return cls(spec.name, spec.digest, {tool.name: tool.digest for tool in tools})


class KnownServers:
    """The servers that a person used, in one file, which several programs share. Call it in a thread."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def meet(self, found: Fingerprint) -> str | None:
        """Remember a server that is new; say what changed about one that is not, or None.

        A file that cannot be read knows no server, but each one in it may have changed. Raises
        `AgentTuiError` when nothing can be written.
        """
        with self._lock:
            servers = self._read()
            if servers is None:
                return "the file of known servers cannot be read"
            accepted = servers.get(found.server)
            if not accepted:
                self._write(servers, found)
                return None
            if any(_same(one, found) for one in accepted):
                return None
            return _difference(accepted[-1], found)

    def accept(self, found: Fingerprint) -> None:
        """The person knows this server as it is now. Raises `AgentTuiError`."""
        with self._lock:
            self._write(self._read() or {}, found)

    def _read(self) -> dict[str, list[dict[str, Any]]] | None:
        try:
            with open_regular(self._file) as stream:
                raw = json.loads(stream.read(_LARGEST_FILE))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            return None
        servers = raw.get("servers") if isinstance(raw, dict) and raw.get("version") == _VERSION else None
        if not isinstance(servers, dict) or not all(map(_is_accepted, servers.values())):
            return None
        return servers

    def _write(self, servers: dict[str, list[dict[str, Any]]], found: Fingerprint) -> None:
        accepted = [one for one in servers.get(found.server, []) if not _same(one, found)]
        accepted.append({"definition": found.definition, "tools": dict(found.tools), "at": int(time.time())})
        servers[found.server] = accepted[-_MOST_ACCEPTED:]
        text = json.dumps({"version": _VERSION, "servers": servers}, indent=1)
        temporary = ""
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self._file.parent, prefix=f".{FILE}.")  # 0600
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass") as stream:
                stream.write(text)
            Path(temporary).replace(self._file)
        except OSError as error:
            with suppress(OSError):
                Path(temporary).unlink()
            raise AgentTuiError(f"{self._file} cannot be written: {error.strerror or error}") from error


def _is_accepted(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("definition"), str)
        and isinstance(one.get("tools"), dict)
        for one in value
    )


def _same(one: Mapping[str, Any], found: Fingerprint) -> bool:
    return bool(one["definition"] == found.definition and one["tools"] == found.tools)


def _difference(before: Mapping[str, Any], now: Fingerprint) -> str:
    old: Mapping[str, str] = before["tools"]
    new = now.tools
    said = [] if before["definition"] == now.definition else ["its command"]
    for word, names in (
        ("new", [name for name in new if name not in old]),
        ("gone", [name for name in old if name not in new]),
        ("changed", [name for name in new if name in old and old[name] != new[name]]),
    ):
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            said.append(f"{word}: {', '.join(safe_line(name)[:60] for name in names[:_NAMED])}{more}")
    return "; ".join(said) or "what it says of them"
