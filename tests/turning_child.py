"""A program with agents that take turn after turn; it prints each turn when the agent is idle after it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agent_tui_core.runtime.session import Session, open_session
from agent_tui_core.runtime.worker import Worker
from loopback import Answer, Request, call, say
from sessions import planned

LOOK_EVERY = 4
"""Each so-many-th turn uses a tool."""


def prompt_of(turn: int) -> str:
    """The words of one turn."""
    return f"turn {turn}" + (" look" if turn % LOOK_EVERY == 0 else "")


def echo(request: Request) -> Answer:
    """The script of the model: it says the prompt back, after a look at the files when it was told so."""
    last = request.json["messages"][-1]
    words = next(m["content"] for m in reversed(request.json["messages"]) if m["role"] == "user")
    if last["role"] == "user" and words.endswith("look"):
        return call("Glob", {"pattern": "*"})
    return say(f"echo {words}")


async def take_turns(session: Session, turns: int) -> None:
    """Let every agent take its turns, all at the same time."""
    async with asyncio.TaskGroup() as group:
        for worker in session.workers:
            group.create_task(_turns(session, worker, turns))


async def _turns(session: Session, worker: Worker, turns: int) -> None:
    for turn in range(turns):
        worker.prompt(prompt_of(turn))
        await worker.idle()
        if worker.state != "idle":
            raise AssertionError(f"turn {turn} ended in the state {worker.state}")
        sys.stdout.write(f"{session.id} {worker.id} {turn}\n")
        sys.stdout.flush()


async def main(base_url: str, folder: str, agents: str, turns: str) -> None:
    """Open a session of its own and take turns."""
    async with open_session(planned(base_url, Path(folder), count=int(agents))) as session:
        await take_turns(session, int(turns))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
