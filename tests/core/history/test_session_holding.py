"""One program at a time goes on with a session, and one that is dead holds nothing."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from agent_tui_core.errors import HistoryError
from agent_tui_core.history.holding import FOLDER, HeldSession
from agent_tui_core.runtime.session import open_session
from development import DEVELOPMENT
from loopback import LoopbackServer, say
from sessions import planned, settled

HOLDER = """
import sys, time
from pathlib import Path
from agent_tui_core.history.holding import HeldSession
held = HeldSession.hold(Path(sys.argv[1]), "abc")
print("held", flush=True)
time.sleep(60)
"""


def test_a_session_that_is_held_is_refused_and_the_holder_named(tmp_path: Path) -> None:
    held = HeldSession.hold(tmp_path, "abc")
    with pytest.raises(HistoryError, match=f"process {os.getpid()}: quit it there first"):
        HeldSession.hold(tmp_path, "abc")
    HeldSession.hold(tmp_path, "def").release()
    held.release()
    held.release()
    HeldSession.hold(tmp_path, "abc").release()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_nobody_else_can_read_who_holds_a_session(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        held = HeldSession.hold(tmp_path, "abc")
    finally:
        os.umask(before)
    [file] = (tmp_path / FOLDER).iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    held.release()


async def test_a_program_that_was_killed_holds_nothing_any_more(tmp_path: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        HOLDER,
        str(tmp_path),
        stdout=PIPE,
        env=DEVELOPMENT | {"PYTHONPATH": ":".join(sys.path)},
    )
    assert child.stdout is not None
    async with asyncio.timeout(30):
        assert await child.stdout.readline() == b"held\n"
    with pytest.raises(HistoryError, match=f"process {child.pid}"):
        HeldSession.hold(tmp_path, "abc")
    child.send_signal(signal.SIGKILL)
    await child.communicate()
    HeldSession.hold(tmp_path, "abc").release()


def test_what_a_killed_program_was_just_starting_does_not_keep_its_session(tmp_path: Path) -> None:
    held = HeldSession.hold(tmp_path, "abc")
    [file] = (tmp_path / FOLDER).iterdir()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    file.write_text(str(dead.pid))
    threading.Timer(0.1, held.release).start()  # as a fork of it does when it becomes another program
    HeldSession.hold(tmp_path, "abc").release()


def test_a_file_that_cannot_be_locked_is_no_reason_not_to_work(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    HeldSession.hold(tmp_path, "abc").release()


async def test_a_session_that_is_open_cannot_be_taken_up_a_second_time(tmp_path: Path) -> None:
    async with LoopbackServer([say("one"), say("two")]) as server:
        the_plan = planned(server.base_url, tmp_path)
        async with open_session(the_plan) as session:
            session.workers[0].prompt("go")
            await settled(session)
            with pytest.raises(HistoryError, match=re.escape(f"{session.id[:12]} is open in process")):
                async with open_session(the_plan, resume=session.id):
                    pass
            async with open_session(the_plan) as beside:
                assert beside.id != session.id
        async with open_session(the_plan, resume=session.id) as again:
            again.workers[0].prompt("and now?")
            await settled(again)
            assert again.workers[0].state == "idle"
