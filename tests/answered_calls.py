"""Histories of what a person answered, made by a whole session: real loop, desk, rules, tools and SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from agent_tui_core.agent.approvals import AllowEdited, AllowOnce, Answer, DenyCall
from agent_tui_core.config.profiles import Plan
from agent_tui_core.runtime.session import open_session
from loopback import DONE, LoopbackServer, Request, finish, say, tool_call, usage
from loopback import Answer as ServerAnswer
from sessions import planned, settled

Said = str | tuple[str, Mapping[str, object]]
"""A command, or a tool and its input."""
YES: Final = AllowOnce()
NO: Final = DenyCall()


def edit(command: str) -> AllowEdited:
    return AllowEdited({"command": command})


async def answered(folder: Path, *answers: tuple[Said, Answer]) -> Plan:
    """A session in which a model made these calls and a person gave these answers; those unasked just run."""
    calls = [(said if isinstance(said, tuple) else ("Bash", {"command": said})) for said, _ in answers]
    given = {_key(*call): answer for call, (_, answer) in zip(calls, answers, strict=True)}
    turns = [calls[at : at + 20] for at in range(0, len(calls), 20)]

    def script(_request: Request) -> ServerAnswer:
        return _calls(turns.pop(0)) if turns else say("Done.")

    async with LoopbackServer(script) as server:
        plan = planned(server.base_url, folder)
        async with open_session(plan) as session:
            changed = asyncio.Event()
            session.desk.watch(changed.set)
            session.workers[0].prompt("go")
            idle = asyncio.ensure_future(settled(session))
            idle.add_done_callback(lambda _done: changed.set())
            while not idle.done():
                changed.clear()
                for request in session.desk.pending:
                    session.desk.answer(request.id, given[_key(request.tool, request.input)])
                await changed.wait()
            await idle
    return plan


def _calls(calls: Sequence[tuple[str, Mapping[str, object]]]) -> ServerAnswer:
    made = [
        tool_call(f"call_{index}", name, dict(arguments), index=index)
        for index, (name, arguments) in enumerate(calls)
    ]
    return ServerAnswer(*made, finish("tool_calls"), usage(10, 5), DONE)


def _key(name: str, input: Mapping[str, object]) -> str:
    return f"{name} {sorted(input.items())}"
