"""Owns the answers that came while no program waited for them: a private file for each, beside the history.

Refuses a second answer to a call. A session that comes back takes them.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from agent_tui_core.regular_file import open_regular
from agent_tui_core.runtime.delivery import (
    LINE_LIMIT,
    Delivery,
    NotUnderstood,
    delivery_line,
    is_call_id,
    read_delivery,
)
from agent_tui_core.runtime.private_sockets import make_private

KEPT_FOR: Final = 3 * 86_400.0
"""Seconds. No call waits for longer than a day."""


class Spool:
    """The folder of such answers."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "answers"

    def put(self, delivery: Delivery) -> bool:
        """Keep an answer; False when the call has one already. Raises OSError, `NotUnderstood`."""
        line = delivery_line(delivery)
        make_private(self.folder)
        written = self.folder / f".{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(written, flags, 0o600), "wb") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._file(delivery.call).hardlink_to(written)
        except FileExistsError:
            return False
        finally:
            with suppress(OSError):
                written.unlink()
        return True

    def holds(self, call: str) -> bool:
        """Whether there is an answer to this call."""
        return is_call_id(call) and self._file(call).is_file()

    def get(self, call: str) -> Delivery | None:
        """The answer to a call, which stays here; None when there is none that can be read."""
        try:
            with open_regular(self._file(call)) as file:
                delivery = read_delivery(file.read(LINE_LIMIT + 1))
        except (OSError, NotUnderstood):
            return None
        return delivery if delivery.call == call else None

    def drop(self, call: str) -> None:
        """Forget the answer to a call."""
        with suppress(OSError):
            self._file(call).unlink()

    def tidy(self) -> None:
        """Remove what no call can be waiting for any more."""
        with suppress(OSError):
            for file in self.folder.iterdir():
                with suppress(OSError):
                    if file.stat().st_mtime < time.time() - KEPT_FOR:
                        file.unlink()

    def _file(self, call: str) -> Path:
        return self.folder / f"{call}.json"
