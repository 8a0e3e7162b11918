"""A program that records turns until it is killed or done, and prints each one that was acknowledged."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agent_tui_core.history.store import History
from agent_tui_core.messages import new_id
from stored_turns import acted


async def record_turns(history: History, session: str, name: str, turns: int) -> None:
    """Record turns in a conversation of its own, each in two records, and print each when it is kept."""
    conversation = await history.add_conversation(
        session, agent_id=f"{name}-{new_id()}", name=name, position=0, profile={}
    )
    for turn in range(turns):
        run, bodies = new_id(), acted(f"{name} {turn}")
        await history.record(conversation, run, *bodies[:4])
        await history.record(conversation, run, *bodies[4:])
        sys.stdout.write(f"{conversation} {run}\n")
        sys.stdout.flush()


async def main(path: str, conversations: str, turns: str) -> None:
    """Open the history and let all conversations go on at once."""
    history = await History.open(Path(path), patience=30)
    session = await history.start_session("/work")
    async with asyncio.TaskGroup() as group:
        for index in range(int(conversations)):
            group.create_task(record_turns(history, session, str(index), int(turns)))
    await history.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
