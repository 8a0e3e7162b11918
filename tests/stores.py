"""Owns what tests of one open store share: its conversations, what they hold, a lock; refuses to open it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from agent_tui_core.events import Body
from agent_tui_core.history.store import History
from agent_tui_core.messages import new_id


async def add(history: History, session: str, name: str = "ada") -> str:
    return await history.add_conversation(
        session, agent_id=new_id(), name=name, position=0, profile={"model": "m"}
    )


async def bodies_of(history: History, conversation: str) -> list[Body]:
    stored = await history.load()
    [found] = [each for each in stored.conversations if each.id == conversation]
    return [body for _, _, body in found.bodies]


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold the write lock as another program would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other
        if other.in_transaction:
            other.execute("ROLLBACK")
