"""Owns the proof that what a command leaves running is seen, told, bounded and ended; refuses mocks."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui_core.processes import child
from agent_tui_core.processes.background import MOST_LEFT
from agent_tui_core.processes.recent import RecentOutput
from agent_tui_core.runtime.sandboxing import LeftBehind
from agent_tui_core.tools.base import ToolContext
from agent_tui_core.tools.shell import BASH
from boxes import Shell, marked, needs_sandbox, new_mark, until, why_no_sandbox

BOTH = pytest.mark.parametrize("bash", [pytest.param(True, marks=needs_sandbox), False], indirect=True)


@pytest.fixture
async def bash(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shell]:
    shell = Shell(tmp_path, boxed=request.param)
    yield shell
    await shell.close()


def file_in(said: str) -> Path:
    found = re.search(r"its output goes to (\S+)\. ", said)
    assert found, said
    return Path(found[1])


@BOTH
async def test_what_is_left_running_is_told_and_listed_and_the_call_returns(bash: Shell) -> None:
    mark = new_mark()
    began = time.monotonic()
    said = await bash.output(f"sleep 1{mark} & echo started")
    assert time.monotonic() - began < 5
    assert said.startswith(f"started\n[Left running in the background as bg1: sleep 1{mark}")
    assert said.endswith("It is ended together with you, or by the person.]")
    (left,) = bash.background.running
    assert (left.agent, left.program, left.command) == (
        "ann",
        f"sleep 1{mark}",
        f"sleep 1{mark} & echo started",
    )
    assert set(left.pids) <= set(marked(mark))


@BOTH
async def test_its_output_goes_on_into_the_file_that_was_named(bash: Shell) -> None:
    os.mkfifo(bash.workspace / "gate")
    said = await bash.output("(read line < gate; echo later $line; sleep 30) & echo now")
    file = file_in(said)
    assert said.startswith("now\n")
    assert file.read_text() == ""
    (bash.workspace / "gate").write_text("word\n")
    await until(lambda: file.read_text() == "later word\n")
    assert await bash.output(f"cat {file}") == "later word"


@BOTH
async def test_nohup_is_left_running_too_and_a_person_can_end_it(bash: Shell) -> None:
    mark = new_mark()
    await bash.output(f"nohup sleep 1{mark} >/dev/null 2>&1 & disown")
    (left,) = bash.background.running
    assert await bash.background.end(left.id)
    await until(lambda: marked(mark) == [], 2.5)
    assert bash.background.running == ()
    assert await bash.background.end(left.id) is None


@needs_sandbox
@pytest.mark.parametrize("bash", [True], indirect=True)
@pytest.mark.parametrize("leave", ["setsid sleep 1{0} &", "python3 -c '{1}' 1{0}"])
async def test_a_daemon_is_left_running_and_listed_in_a_sandbox(bash: Shell, leave: str) -> None:
    mark = new_mark()
    daemon = (
        "import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(60)"
    )
    assert "Left running" in await bash.output(leave.format(mark, daemon))
    await bash.background.end_all()
    await until(lambda: marked(mark) == [], 2.5)


@BOTH
async def test_who_was_not_seen_in_one_look_is_left_running_all_the_same(
    bash: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = itertools.count()
    for name in ("descendants", "group_members"):
        look = getattr(child, name)
        monkeypatch.setattr(child, name, lambda pid, look=look: look(pid) if next(looks) % 2 else [])
    assert "Left running" in await bash.output(f"sleep 1{new_mark()} &")
    assert next(looks) > 2


@BOTH
async def test_what_ends_within_a_moment_is_not_left_running(bash: Shell) -> None:
    assert await bash.output("sleep 0.05 & echo x") == "x"
    assert bash.background.running == ()


@BOTH
async def test_what_ended_is_no_longer_listed_and_its_output_can_still_be_read(bash: Shell) -> None:
    said = await bash.output("(sleep 0.6; echo last words) &")
    assert bash.background.running
    await until(lambda: not bash.background.running)
    assert file_in(said).read_text() == "last words\n"


@BOTH
async def test_a_flood_in_the_background_stays_small(bash: Shell) -> None:
    file = file_in(await bash.output("yes 0123456789 &"))
    await until(lambda: file.read_bytes().startswith(b"[earlier output was dropped]"))
    sizes = [file.stat().st_size for _ in range(50)]
    assert max(sizes) <= 2 * 2**20 + 100
    began = time.monotonic()
    await bash.background.end_all()
    assert time.monotonic() - began < 2.5


@BOTH
async def test_an_agent_can_leave_only_so_many(bash: Shell) -> None:
    mark = new_mark()
    await asyncio.gather(*(bash.output(f"sleep 1{mark} &") for _ in range(MOST_LEFT)))
    said = await bash.output(f"sleep 1{mark} & echo one too many")
    assert said == "one too many\n[What it left running in the background was ended.]"
    assert len(bash.background.running) == MOST_LEFT
    others = bash.background.of("id-rob", "rob")
    assert not others.full
    await bash.background.end_all("id-ann")
    await until(lambda: marked(mark) == [], 2.5)


@BOTH
async def test_an_interrupt_right_after_the_command_ends_what_it_left(bash: Shell) -> None:
    mark = new_mark()
    task = asyncio.create_task(bash(f"sleep 1{mark} & echo ready"))
    await bash.says("ready")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: marked(mark) == [], 2.5)
    assert bash.background.running == ()


async def test_without_a_room_for_it_nothing_outlives_the_command(tmp_path: Path) -> None:
    mark = new_mark()
    context = ToolContext(tmp_path)
    done = await BASH.execute({"command": f"sleep 1{mark} & echo x"}, context)
    assert done.content == "x\n[What it left running in the background was ended.]"
    await until(lambda: marked(mark) == [], 2.5)


async def test_a_person_sees_it_in_a_row_and_ends_it_there(tmp_path: Path) -> None:
    mark = new_mark()
    room = LeftBehind()
    assert room.report().rows == ()
    context = ToolContext(tmp_path, background=room.of_agent("id-ann", "ann"))
    await BASH.execute({"command": f"sleep 1{mark} &"}, context)
    (row,) = room.report().rows
    assert (row.title, row.state, row.verb) == (f"sleep 1{mark}", "running 0 s", "end")
    assert row.detail.startswith(f"ann · pid {marked(mark)[0]} · by: sleep 1{mark} & · output in /")
    assert await room.act(row.id) == "Ended what ann had left running."
    await until(lambda: marked(mark) == [], 2.5)
    assert await room.act(row.id) == "It had ended already."


_APP = """
import asyncio, sys
sys.path[:0] = {path!r}
from boxes import Shell
from pathlib import Path
async def main():
    bash = Shell(Path({folder!r}))
    print(await bash.output("setsid sleep 1{mark} & sleep 2{mark} & echo left"), flush=True)
    await bash("echo; sleep 3{mark}")
asyncio.run(main())
"""


@needs_sandbox
async def test_a_killed_program_takes_everything_along(tmp_path: Path) -> None:
    mark = new_mark()
    program = tmp_path / "app.py"
    program.write_text(_APP.format(path=sys.path, folder=str(tmp_path), mark=mark))
    app = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE)
    try:
        await until(lambda: len([pid for pid in marked(f"3{mark}") if pid != app.pid]) > 1, seconds=30)
        os.kill(app.pid, signal.SIGKILL)
        await until(lambda: not marked(mark), seconds=5)
    finally:
        app.kill()
        app.communicate()


def test_the_newest_output_is_kept() -> None:
    recent = RecentOutput(limit=100)
    assert recent.file is not None
    for number in range(40):
        recent.feed(b"line %02d\n" % number)
    text = recent.file.read_text()
    assert text.startswith("[earlier output was dropped]\nline ")
    assert text.endswith("line 39\n")
    assert len(text) <= 100
    assert recent.file.stat().st_mode & 0o777 == 0o600
    recent.feed(b"x" * 1_000)
    assert recent.file.stat().st_size <= 100
    recent.forget()
    assert not recent.file.exists()


def test_the_reason_for_skipping_is_in_words() -> None:
    assert not why_no_sandbox() or "bwrap" in why_no_sandbox() or "Linux" in why_no_sandbox()
