"""Owns the way of an answer from whoever has it to the program that waits: found by its socket, or kept.

Refuses the socket of another user. Where no program has the call the history says what became of it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agent_tui_core.errors import AgentTuiError
from agent_tui_core.history.calls import FoundCall, WaitingCall
from agent_tui_core.history.store import History
from agent_tui_core.records import dataclass
from agent_tui_core.runtime import private_sockets
from agent_tui_core.runtime.delivery import Delivery, NotUnderstood, Progress, delivery_line, read_receipt
from agent_tui_core.runtime.delivery_spool import Spool
from agent_tui_core.runtime.session import HISTORY_FILE
from agent_tui_core.tools.external import Receipt, ended_words

PATIENCE: Final = 15.0
"""Seconds that a program has to take an answer."""
_SHORT_ID: Final = 12
_RECEIPT_LIMIT: Final = 64 * 1024
_WORDS: Final = {
    "ok": "answered",
    "error": "answered with an error, or failed",
    "timed_out": "timed out",
    "cancelled": "cancelled or interrupted",
    "denied": "denied",
    "not_run": "not run",
}

Became: TypeAlias = Literal["delivered", "kept", "refused"]


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What became of an answer, and the words for whoever brought it."""

    became: Became
    words: str


def hand_over(
    delivery: Delivery, data_dir: Path, environ: Mapping[str, str], *, patience: float = PATIENCE
) -> HandedOver:
    """Bring an answer to the program that waits for it, or keep it for when it comes back.

    Raises `AgentTuiError` for an answer that cannot be sent, and when it remains unknown what became of it.
    """
    try:
        line = delivery_line(delivery)
    except NotUnderstood as error:
        raise AgentTuiError(str(error)) from error
    sent = _send_to_all(line, data_dir, environ, patience)
    if isinstance(sent, HandedOver):
        return sent
    file = data_dir / HISTORY_FILE
    found = asyncio.run(_find(file, delivery.call)) if file.exists() else None
    if (refused := _not_open(found)) is not None:
        return refused
    if isinstance(delivery.outcome, Progress) and not sent:
        return HandedOver("refused", "no agent-tui that waits for this call runs now: nothing was shown")
    if sent:
        raise AgentTuiError(
            f"the program that may wait for this call does not answer (process {', '.join(sent)}); it may be "
            "stopped or very busy. Nothing was kept: try again, or answer in its pane"
        )
    return _keep(delivery, line, found, data_dir, environ, patience)


def waiting_calls(data_dir: Path) -> Sequence[WaitingCall]:
    """The calls that somebody outside can answer, oldest first; of sessions that can come back, too."""
    file, spool = data_dir / HISTORY_FILE, Spool(data_dir)
    found = asyncio.run(_waiting(file)) if file.exists() else ()
    return [call for call in found if not spool.holds(call.key)]


async def _waiting(file: Path) -> Sequence[WaitingCall]:
    history = await History.open(file)
    try:
        return await history.waiting_calls(time.time())
    finally:
        await history.close()


def _send_to_all(
    line: bytes, data_dir: Path, environ: Mapping[str, str], patience: float
) -> HandedOver | list[str]:
    """What the program said that knows the call; else the processes that said nothing."""
    silent = []
    for path in _sockets(data_dir, environ):
        try:
            receipt = _send(path, line, patience)
        except (TimeoutError, BlockingIOError):  # it takes no further connection
            silent.append(path.name.partition("-")[0])
            continue
        except OSError:
            continue
        except NotUnderstood as error:
            return HandedOver("refused", str(error))
        if receipt.state != "unknown":
            return HandedOver("delivered" if receipt.state == "accepted" else "refused", receipt.words)
    return silent


def _sockets(data_dir: Path, environ: Mapping[str, str]) -> list[Path]:
    """The one that the environment names first: the program that started us has the call."""
    said = environ.get("AGENT_TUI_SOCKET")
    named = [Path(said)] if said and private_sockets.is_private(Path(said).parent) else []
    folders = private_sockets.folders(data_dir, environ)
    found = [path for folder in folders for path in private_sockets.sockets_in(folder)]
    return list(dict.fromkeys((*named, *found)))


def _send(path: Path, line: bytes, patience: float) -> Receipt:
    """Send a line and read the receipt; raises OSError, TimeoutError and `NotUnderstood`."""
    deadline = time.monotonic() + patience
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(patience)
        connection.connect(os.fsencode(path))
        if private_sockets.peer_uid(connection) != os.getuid():
            raise PermissionError(f"{path} belongs to somebody else")
        with suppress(BrokenPipeError):  # it may have refused before it read everything
            connection.sendall(line)
        said = bytearray()
        while not said.endswith(b"\n") and len(said) < _RECEIPT_LIMIT:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            piece = connection.recv(4096)
            if not piece:
                break
            said += piece
    if not said:
        raise ConnectionResetError(f"{path}: the program ended, or cut the connection")
    return read_receipt(bytes(said))


async def _find(file: Path, call: str) -> FoundCall | None:
    history = await History.open(file)
    try:
        return await history.find_call(call)
    finally:
        await history.close()


def _not_open(found: FoundCall | None) -> HandedOver | None:
    """Why a call cannot be answered any more; None when it can."""
    if found is None:
        return HandedOver(
            "refused",
            "no call with this id is known: no running agent-tui has it, and neither has the history. Was it "
            "another data folder (--data-dir)?",
        )
    if found.ended_at is not None:
        return HandedOver("refused", ended_words(_WORDS.get(found.outcome or "", "over"), found.ended_at))
    if found.until is None:
        return HandedOver("refused", f"this call of {found.tool} does not wait for a result from outside")
    if found.until <= time.time():
        return HandedOver("refused", ended_words("timed out", found.until))
    return None


def _keep(
    delivery: Delivery,
    line: bytes,
    found: FoundCall | None,
    data_dir: Path,
    environ: Mapping[str, str],
    patience: float,
) -> HandedOver:
    assert found is not None
    spool = Spool(data_dir)
    try:
        if not spool.put(delivery):
            return HandedOver("refused", "this call has an answer already, which waits for its session")
    except OSError as error:
        raise AgentTuiError(
            f"the answer cannot be kept in {spool.folder}: {error.strerror or error}"
        ) from error
    # A program that came back meanwhile may have looked for an answer before it was there.
    again = _send_to_all(line, data_dir, environ, patience)
    if isinstance(again, HandedOver):
        spool.drop(delivery.call)
        return again
    return HandedOver(
        "kept",
        f"kept: no agent-tui that waits for this call of {found.tool} runs now. {found.agent_name} gets it "
        f"with agent-tui --resume {found.session_id[:_SHORT_ID]}",
    )
