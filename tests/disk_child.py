"""A process that records turns one after the other and says of each whether history took it.

Its parent makes the disk fail under it (`test_disk_faults`). Lines on stdout: `kept N`, `lost N`, `unopened`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agent_tui_core.errors import HistoryError
from agent_tui_core.history.store import History
from agent_tui_core.messages import new_id
from stored_turns import said

TURNS = 6


def tell(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


async def record(path: Path) -> None:
    try:
        history = await History.open(path)
    except HistoryError:
        tell("unopened")
        return
    try:
        session = await history.start_session("/w")
        conversation = await history.add_conversation(
            session, agent_id=new_id(), name="ada", position=0, profile={"model": "m"}
        )
        for number in range(TURNS):
            try:
                await history.record(conversation, f"run-{number}", *said(f"turn {number}"))
                tell(f"kept {number}")
            except HistoryError:
                tell(f"lost {number}")
    except HistoryError:
        tell("unopened")
    finally:
        await history.close()


if __name__ == "__main__":
    asyncio.run(record(Path(sys.argv[1])))
