"""Every way out gives the terminal back as it was found, and a terminal without a size costs nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from held_terminal import HeldTerminal, held_terminal
from pty_program import terminal_environment

FOOTER = "quit"
WAITS = "this terminal has no size yet"
CTRL_Q = b"\x11"


@asynccontextmanager
async def demo(
    folder: Path, *, rows: int = 24, columns: int = 80, **more: str
) -> AsyncIterator[HeldTerminal]:
    argv = [sys.executable, "-m", "agent_tui", "--demo"]
    environment = terminal_environment(folder, **more)
    async with held_terminal(argv, environment, folder, rows=rows, columns=columns) as terminal:
        yield terminal


def is_as_before(terminal: HeldTerminal, folder: Path) -> None:
    assert terminal.attributes == terminal.before
    assert terminal.changed == {}
    assert "Traceback" not in terminal.text()
    with closing(sqlite3.connect(folder / "data" / "history.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not (folder / "data" / "history.db-wal").exists()  # it was closed, not dropped


@pytest.mark.parametrize(
    "number",
    [
        *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
        *(signal.SIGALRM, signal.SIGVTALRM, signal.SIGIO, signal.SIGRTMIN, signal.SIGRTMAX - 1),
    ],
)
async def test_a_signal_that_would_end_it_restores_the_terminal(number: int, tmp_path: Path) -> None:
    async with demo(tmp_path) as terminal:
        await terminal.until(FOOTER)
        assert terminal.is_raw
        assert terminal.changed
        terminal.signal(number)
        assert await terminal.end() == 128 + number
        is_as_before(terminal, tmp_path)


@pytest.mark.parametrize("touched", [False, True])
async def test_a_program_that_was_stopped_and_continued_draws_again_and_restores_all(
    touched: bool, tmp_path: Path
) -> None:
    async with demo(tmp_path) as terminal:
        for _ in range(2):
            await terminal.until(FOOTER)
            terminal.signal(signal.SIGSTOP)
            await terminal.until_stopped()
            if touched:  # as a shell does, which wants to read a line
                terminal.attributes = terminal.before
            mark = len(terminal.output)
            terminal.signal(signal.SIGCONT)
            await terminal.until(FOOTER, since=mark)
            await terminal.until_raw()
        terminal.signal(signal.SIGTERM)
        assert await terminal.end() == 143
        is_as_before(terminal, tmp_path)


async def test_a_program_that_is_asked_to_stop_gives_the_terminal_back_meanwhile(tmp_path: Path) -> None:
    async with demo(tmp_path) as terminal:
        await terminal.until(FOOTER)
        terminal.signal(signal.SIGTSTP)
        await terminal.until_stopped()
        await asyncio.sleep(0)
        terminal._read()
        assert (terminal.attributes, terminal.changed) == (terminal.before, {})
        mark = len(terminal.output)
        terminal.signal(signal.SIGCONT)
        await terminal.until(FOOTER, since=mark)
        await terminal.until_raw()
        terminal.signal(signal.SIGQUIT)
        assert await terminal.end() == 131
        is_as_before(terminal, tmp_path)


async def test_a_program_that_ends_while_it_is_stopped_restores_the_terminal(tmp_path: Path) -> None:
    async with demo(tmp_path) as terminal:
        await terminal.until(FOOTER)
        terminal.signal(signal.SIGSTOP)
        await terminal.until_stopped()
        terminal.signal(signal.SIGTERM)
        terminal.signal(signal.SIGCONT)
        assert await terminal.end() == 143
        is_as_before(terminal, tmp_path)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("stop", [signal.SIGSTOP, signal.SIGTSTP])
async def test_a_stopped_job_that_its_shell_ends_is_gone_and_the_shell_has_its_terminal(
    stop: signal.Signals, tmp_path: Path
) -> None:
    environment = terminal_environment(tmp_path, PS1="ready> ")
    async with held_terminal(["/bin/bash", "--norc", "-i"], environment, tmp_path) as terminal:
        mark = await terminal.until("ready> ")
        terminal.press(f"{sys.executable} -m agent_tui --demo\r".encode())
        await terminal.until(FOOTER, since=mark)
        (job,) = _children(terminal.process.pid)
        mark = len(terminal.output)
        os.kill(job, stop)
        mark = await terminal.until("Stopped", "ready> ", since=mark)
        terminal.press(b"kill %1\r")
        async with asyncio.timeout(20):
            while Path(f"/proc/{job}").exists():
                await asyncio.sleep(0.01)
        mark = len(terminal.output)
        terminal.press(b"\r")
        mark = await terminal.until("Exit 143", "ready> ", since=mark)
        terminal.press(b"exit 7\r")
        assert await terminal.end() == 7
        assert (terminal.attributes, terminal.changed) == (terminal.before, {})


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGKILL])
async def test_a_crash_gives_the_terminal_back_and_says_where_it_was(number: int, tmp_path: Path) -> None:
    async with demo(tmp_path) as terminal:
        await terminal.until(FOOTER)
        (guard,) = _children(terminal.process.pid)
        terminal.signal(number)
        assert await terminal.end() == -number
        async with asyncio.timeout(10):
            while Path(f"/proc/{guard}/cmdline").exists() and Path(f"/proc/{guard}/cmdline").read_bytes():
                await asyncio.sleep(0.01)
        terminal._read()
        assert terminal.attributes == terminal.before
        assert terminal.changed == {}
        log = (tmp_path / "data" / "agent-tui.log").read_text()
        assert ("Fatal Python error" in log) is (number != signal.SIGKILL)


async def test_a_guard_that_is_gone_or_stopped_holds_nobody_up(tmp_path: Path) -> None:
    for done_to_it in (signal.SIGKILL, signal.SIGSTOP):
        async with demo(tmp_path) as terminal:
            await terminal.until(FOOTER)
            os.kill(_children(terminal.process.pid)[0], done_to_it)
            terminal.signal(signal.SIGTERM)
            assert await terminal.end() == 143
            is_as_before(terminal, tmp_path)


STUCK = """
import sys, agent_tui.launch, agent_tui.app
from agent_tui.__main__ import main
agent_tui.launch.DEAF_AFTER = 0.5
def never_ends(self):
    while True:
        pass
agent_tui.app.AgentTuiApp.action_help = never_ends
sys.argv = ["agent-tui", "--demo"]
sys.exit(main())
"""


async def test_a_loop_that_turns_no_more_is_ended_by_a_signal_all_the_same(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", STUCK]
    async with held_terminal(argv, terminal_environment(tmp_path), tmp_path) as terminal:
        await terminal.until(FOOTER)
        terminal.press(b"\x1bOP")  # f1
        await asyncio.sleep(1)
        terminal.signal(signal.SIGTERM)
        assert await terminal.end() == 143
        async with asyncio.timeout(10):
            while terminal.is_raw:
                await asyncio.sleep(0.01)
        terminal._read()
        assert (terminal.attributes, terminal.changed) == (terminal.before, {})
        assert "did not hear of SIGTERM" in (tmp_path / "data" / "agent-tui.log").read_text()


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 80), (24, 0)])
async def test_a_terminal_without_a_size_is_quiet_and_drawn_when_one_comes(
    rows: int, columns: int, tmp_path: Path
) -> None:
    async with demo(tmp_path, rows=rows, columns=columns) as terminal:
        await terminal.until(WAITS)
        await asyncio.sleep(3)  # until the last import in the background is over
        pid, written = terminal.process.pid, len(terminal.output)
        used, holds = _processor_seconds(pid), _resident(pid)
        await asyncio.sleep(2)
        assert len(terminal.output) == written
        assert _processor_seconds(pid) - used < 0.3
        assert _resident(pid) - holds < 4 * 2**20
        terminal.resize(30, 100)
        await terminal.until(FOOTER, "streaming", since=written)
        terminal.signal(signal.SIGTERM)
        assert await terminal.end() == 143
        is_as_before(terminal, tmp_path)


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGUSR1, CTRL_Q, b"\x03\x03"])
async def test_a_terminal_without_a_size_can_be_left(way: signal.Signals | bytes, tmp_path: Path) -> None:
    async with demo(tmp_path, rows=0, columns=0) as terminal:
        await terminal.until(WAITS)
        await terminal.until_raw()
        if isinstance(way, bytes):
            terminal.press(way)
        else:
            terminal.signal(way)
        assert await terminal.end() == (0 if isinstance(way, bytes) else 128 + way)
        is_as_before(terminal, tmp_path)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3), (1, 200), (65535, 65535)])
async def test_a_terminal_of_any_size_can_be_left(rows: int, columns: int, tmp_path: Path) -> None:
    async with demo(tmp_path, rows=rows, columns=columns) as terminal:
        await terminal.until_raw()
        terminal.resize(24, 80)
        await terminal.until(FOOTER)
        terminal.signal(signal.SIGTERM)
        assert await terminal.end() == 143
        is_as_before(terminal, tmp_path)


@pytest.mark.parametrize("name", ["dumb", "unknown"])
async def test_a_terminal_that_can_show_nothing_is_told_of_the_way_without(name: str, tmp_path: Path) -> None:
    async with demo(tmp_path, TERM=name) as terminal:
        assert await terminal.end() == 2
        assert "agent-tui run" in terminal.text()
        assert terminal.attributes == terminal.before
        assert b"\x1b" not in terminal.output
