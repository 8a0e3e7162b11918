"""Owns what a start records or replays, as the command line said it; refuses to touch a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_tui_core.config.paths import absolute
from agent_tui_core.errors import ConfigError
from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Taping:
    """Folders of cassettes; None where nothing is recorded or replayed."""

    record: Path | None = None
    replay: Path | None = None
    pace: float = 1.0
    """Stretches the recorded time between two pieces of an answer; 0 is as fast as possible."""

    def checked(self) -> Taping:
        """The same with absolute folders; raises `ConfigError`."""
        if self.record is not None and self.replay is not None:
            raise ConfigError("what is replayed is recorded already: leave out one of them", key="--record")
        if not 0 <= self.pace < float("inf"):
            raise ConfigError(
                "should be 0 (as fast as possible) or more; 1 is as recorded", key="--replay-pace"
            )
        return replace(
            self,
            record=None if self.record is None else absolute(self.record),
            replay=None if self.replay is None else absolute(self.replay),
        )


NO_TAPING: Final = Taping()
