"""Owns the table of faults behind a whole answer: in tools, hooks, approvals, history and processes.

A row is a call that goes wrong, what somebody does meanwhile, and what has to come of it. Refuses to run it:
`fault_dashboard` does.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent_tui_core.agent.approvals import AllowEdited, AllowOnce, Answer, DenyCall
from agent_tui_core.events import ApprovalRequest, RunEnd
from agent_tui_core.runtime.entries import ToolStatus
from agent_tui_core.runtime.session import Session
from fault_kinds import Layer
from stores import locked


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row happens."""

    session: Session
    workspace: Path
    hook: Path
    """The script that is asked before each Glob."""
    history: Path

    async def question(self) -> ApprovalRequest:
        """The first question that comes."""
        async with asyncio.timeout(10):
            while not self.session.desk.pending:
                await asyncio.sleep(0.005)
        return self.session.desk.pending[0]

    async def answer(self, answer: Answer) -> int:
        """Answer it; how many this settles."""
        question = await self.question()
        return self.session.desk.answer(question.id, answer)


Happening = Callable[[Place], Awaitable[object]]


async def _nothing(_place: Place) -> None:
    pass


@dataclass(frozen=True, slots=True)
class WorkFault:
    """One row."""

    layer: Layer
    name: str
    call: tuple[str, object]
    """The tool and its arguments; a string is sent as it is."""
    status: ToolStatus
    tells: str = ""
    """What the model is told, in any case."""
    end: RunEnd = "completed"
    says: str = ""
    """What a person reads."""
    before: Callable[[Place], object] = field(default=lambda _: None)
    meanwhile: Happening = _nothing
    boxed: bool = False
    """Only where bubblewrap works."""


# --- tools --------------------------------------------------------------------------------------------------


def _pipe(place: Place) -> None:
    os.mkfifo(_new(place, "pipe"))


def _huge(place: Place) -> None:
    with (place.workspace / "huge").open("wb") as file:
        file.truncate(2**31)


def _loop(place: Place) -> None:
    _new(place, "loop").symlink_to("loop")


def _noise(place: Place) -> None:
    (place.workspace / "noise").write_bytes(bytes(range(256)) * 40)


def _outside(place: Place) -> None:
    _new(place, "out").symlink_to(place.history)


def _new(place: Place, name: str) -> Path:
    """Where this file will be; a row can come twice."""
    path = place.workspace / name
    path.unlink(missing_ok=True)
    return path


def _tools() -> list[WorkFault]:
    def read(name: str) -> tuple[str, object]:
        return "Read", {"file_path": name}

    edit = ("Edit", {"file_path": "notes.md", "old_string": "not there", "new_string": "x"})
    return [
        WorkFault("tools", "a file that is not there", read("absent.md"), "error", "there is no absent.md"),
        WorkFault("tools", "a folder in place of a file", read("."), "error", "is a folder"),
        WorkFault("tools", "a pipe in place of a file", read("pipe"), "error", before=_pipe),
        WorkFault("tools", "a file of two gigabytes", read("huge"), "error", "too large", before=_huge),
        WorkFault("tools", "a link to itself", read("loop"), "error", "leads to itself", before=_loop),
        WorkFault("tools", "a link that leads out", read("out"), "error", "leads out", before=_outside),
        WorkFault("tools", "a file of noise", read("noise"), "error", before=_noise),
        WorkFault("tools", "words that are not there", edit, "error"),
        WorkFault("tools", "arguments that are no JSON", ("Read", '{"file_path": '), "error", "be read"),
        WorkFault("tools", "arguments of another shape", ("Read", {"file_path": [7]}), "error", "not fit"),
        WorkFault("tools", "no arguments", ("Read", ""), "error", "not fit"),
        WorkFault("tools", "a tool that does not exist", ("Fly", {"to": "the moon"}), "error", "fly"),
        WorkFault("tools", "a pattern that is none", ("Grep", {"pattern": "("}), "error"),
        WorkFault("tools", "a name without an end", ("F" * 100_000, {"x": 1}), "error", "there is no tool"),
        WorkFault("tools", "a path without an end", read("a/" * 200_000), "error", "no usable path"),
        WorkFault(
            "tools", "thousands of keys", ("Glob", {f"k{n}": n for n in range(5_000)}), "error", "other keys"
        ),
        WorkFault(
            "tools", "a command without an end", ("Bash", {"command": "x;" * 70_000}), "error", "allowed"
        ),
    ]


# --- hooks --------------------------------------------------------------------------------------------------


async def _allow(place: Place) -> None:
    await place.answer(AllowOnce())


async def _deny(place: Place) -> None:
    await place.answer(DenyCall("a hook broke"))


def _hook(script: str) -> Callable[[Place], object]:
    return lambda place: place.hook.write_text(script)


def _hooks() -> list[WorkFault]:
    call = ("Glob", {"pattern": "*.md"})
    decides = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", %s}}'
    reason = decides % '"permissionDecisionReason": "not \\u001b]0;owned\\u0007 today"'

    def broken(name: str, script: str) -> WorkFault:
        """It asks, since a person is there; the person denies."""
        before = _hook(script)
        return WorkFault("hooks", name, call, "denied", "a hook broke", before=before, meanwhile=_deny)

    return [
        WorkFault("hooks", "denies", call, "denied", "no globs", before=_hook("echo no globs >&2; exit 2")),
        WorkFault(
            "hooks",
            "denies in JSON, with escapes",
            call,
            "denied",
            "today",
            before=_hook(f"cat <<'E'\n{reason}\nE\n"),
        ),
        WorkFault("hooks", "says something else than JSON", call, "ok", before=_hook("echo hello")),
        broken("says JSON of another shape", "echo '{\"hookSpecificOutput\": 7}'"),
        broken("fails", "echo oops >&2; exit 1"),
        broken("ends by a signal", "kill -9 $$"),
        broken("hangs", "sleep 600"),
        broken("floods", "yes hello"),
        broken("is not there", "exec /no/such/program"),
    ]


# --- approvals ----------------------------------------------------------------------------------------------


async def _interrupt(place: Place) -> None:
    await place.question()
    place.session.workers[0].interrupt()


async def _twice(place: Place) -> None:
    question = await place.question()
    assert place.session.desk.answer("nobody asked this", AllowOnce()) == 0
    assert place.session.desk.answer(question.id, DenyCall("the first")) == 1
    assert place.session.desk.answer(question.id, AllowOnce()) == 0


async def _edited_to_what_is_denied(place: Place) -> None:
    await place.answer(AllowEdited({"file_path": "secret.txt", "content": "x"}))


def _approvals() -> list[WorkFault]:
    write = ("Write", {"file_path": "ran", "content": "x"})

    def answered(answer: Answer) -> Happening:
        return lambda place: place.answer(answer)

    no = answered(DenyCall("not that"))
    return [
        WorkFault("approvals", "no", write, "denied", meanwhile=answered(DenyCall())),
        WorkFault("approvals", "no, because", write, "denied", "not that", meanwhile=no),
        WorkFault(
            "approvals",
            "no, and stop",
            write,
            "denied",
            end="interrupted",
            meanwhile=answered(DenyCall(stop=True)),
        ),
        WorkFault(
            "approvals", "stopped while it asks", write, "cancelled", end="interrupted", meanwhile=_interrupt
        ),
        WorkFault("approvals", "answered twice", write, "denied", "the first", meanwhile=_twice),
        WorkFault(
            "approvals", "edited to what is denied", write, "denied", meanwhile=_edited_to_what_is_denied
        ),
        WorkFault("approvals", "a rule denies", ("Bash", {"command": "curl http://127.0.0.1:9/"}), "denied"),
        WorkFault(
            "approvals",
            "a command of thousands of words",
            ("Bash", {"command": "a" + " >b" * 3_300}),
            "denied",
            "not that",
            meanwhile=no,
        ),
        WorkFault(
            "approvals",
            "a protected file",
            ("Write", {"file_path": ".git/config", "content": "x"}),
            "denied",
            "not that",
            meanwhile=no,
        ),
    ]


# --- history ------------------------------------------------------------------------------------------------

_BREAK: Final = """
CREATE TRIGGER broken BEFORE INSERT ON tool_calls BEGIN SELECT RAISE(FAIL, 'the disk is made of cheese'); END
"""


def _break(place: Place) -> None:
    with closing(sqlite3.connect(place.history)) as other:
        other.execute(_BREAK)


async def _mend_later(place: Place) -> None:
    while not place.session.workers[0].busy:
        await asyncio.sleep(0.005)
    await place.session.workers[0].idle()
    with closing(sqlite3.connect(place.history)) as other:
        other.execute("DROP TRIGGER broken")


async def _lock_for_a_moment(place: Place) -> None:
    with locked(place.history):
        await asyncio.sleep(0.4)


def _history() -> list[WorkFault]:
    echo = ("Bash", {"command": "echo kept"})
    return [
        WorkFault("history", "locked for a moment", echo, "ok", "kept", meanwhile=_lock_for_a_moment),
        WorkFault(
            "history",
            "writes fail",
            echo,
            "not_run",
            end="failed",
            says="cheese",
            before=_break,
            meanwhile=_mend_later,
        ),
    ]


# --- processes ----------------------------------------------------------------------------------------------


def _processes() -> list[WorkFault]:
    def bash(command: str, timeout: int | None = None) -> tuple[str, object]:
        return "Bash", {"command": command} | ({"timeout": timeout} if timeout else {})

    deaf = "trap '' TERM INT HUP; echo deaf; while :; do sleep 0.1; done"
    return [
        WorkFault("process", "fails", bash("echo lost; exit 3"), "error", "3"),
        WorkFault("process", "ends by a signal", bash("kill -SEGV $$"), "error", meanwhile=_allow),
        WorkFault("process", "a program that is not there", bash("nosuchprogram"), "error", "not found"),
        WorkFault("process", "never ends", bash("sleep 600", 500), "error", "timed out"),
        WorkFault("process", "is deaf to TERM", bash(deaf, 500), "error", "deaf", meanwhile=_allow),
        WorkFault(
            "process", "stops itself", bash("kill -STOP $$", 500), "error", "timed out", meanwhile=_allow
        ),
        WorkFault(
            "process",
            "closes its pipes and stays",
            bash("exec >&- 2>&-; sleep 600", 500),
            "error",
            "timed out",
            meanwhile=_allow,
        ),
        WorkFault("process", "floods both pipes", bash("yes out & yes err >&2", 500), "error", "timed out"),
        WorkFault("process", "reads what nobody writes", bash("cat; echo end"), "ok", "end"),
        WorkFault("process", "says noise", bash("head -c 100000 /dev/urandom"), "ok"),
        WorkFault("process", "says escapes", bash(r"printf '\033]0;owned\007\033[2Jwords'"), "ok", "words"),
        WorkFault("process", "leaves a child", bash("sleep 600 & echo left"), "ok", "left"),
        WorkFault(
            "process",
            "leaves a child of its own session",
            bash("setsid sleep 600 & echo left"),
            "ok",
            "left",
            meanwhile=_allow,
            boxed=True,
        ),
    ]


WORK_FAULTS: Final = (*_tools(), *_hooks(), *_approvals(), *_history(), *_processes())
