"""Owns what a row of the table of broken networks is, and the answers that rows are made of; refuses rows.

`GOOD` is the answer that every agent gets after its fault: an agent is usable at once.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from fault_server import Step, chunked
from loopback import DONE, finish, text, tool_call, usage

Layer: TypeAlias = Literal[
    "tls", "transport", "http", "stream", "tools", "hooks", "approvals", "history", "process"
]
Ending: TypeAlias = Literal["completed", "failed", "limit", "retried"]
SECRET: Final = "sk-fault-0123456789abcdef"
WHOLE: Final = text("Hel") + text("lo.") + finish() + usage(10, 5) + DONE
GOOD: Final = chunked(text("All "), text("well."), finish(), usage(10, 5), DONE)
CUT: Final = text("Half a sen")
_ZIP: Final = zlib.compressobj(9, zlib.DEFLATED, 31)
_BEGUN: Final = _ZIP.compress(b"data: ") + _ZIP.flush(zlib.Z_FULL_FLUSH)
BOMB: Final = _BEGUN + (_ZIP.compress(b" " * 2**20) + _ZIP.flush(zlib.Z_FULL_FLUSH)) * 256 + _ZIP.flush()
CALL: Final = tool_call("call_9", "Bash", {"command": "touch ran"})


@dataclass(frozen=True, slots=True)
class Fault:
    """One row."""

    layer: Layer
    name: str
    scenario: tuple[Step, ...]
    end: Ending
    """"retried": the request is made again, and the good answer completes the run."""
    says: str = ""
    """What the pane says, in any case and with any line breaks."""
    keeps: str = ""
    """Text of the answer that stays."""
