"""No string of a model, tool, server, file or folder reaches the terminal as anything but text.

The real programs run in a pseudo-terminal that is large enough to show everything; the raw bytes that they
write are taken apart, and what is not of the dashboard's own making fails the test.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hostile_dashboard import TOASTS
from hostile_strings import HOSTILE
from pty_program import ROOT, PtyProgram, pty_program, terminal_environment
from terminal_bytes import trespasses

LAST = f"K{len(HOSTILE) - 1:03}("
ROWS, COLUMNS = 70, 130
NEWEST, PAGE_UP = "\x1b[1;5F", "\x1b[5~"
F1, F3, F4, F7, END = "\x1bOP", "\x1bOR", "\x1bOS", "\x1b[18~", "\x1b[F"


def _environment(folder: Path) -> dict[str, str]:
    path = ":".join(str(ROOT / part) for part in ("core", "tui", "tests"))
    return terminal_environment(folder, PYTHONPATH=path, COLORTERM="truecolor", OPENAI_API_KEY="not-needed")


def _kept(program: PtyProgram) -> None:
    """Nothing foreign got through."""
    found = trespasses(bytes(program.output), rows=program.rows, columns=program.columns)
    assert not found, found[:20]


async def _armed(program: PtyProgram, asked: str, since: int) -> int:
    """Wait until the question with these words listens; return where it began."""
    await program.until(asked, since=since)
    begun = since + program.since(since).index(asked)
    await program.until("Press a key to answer", since=begun)
    return begun


async def _read_on(program: PtyProgram, last: str) -> None:
    """Go to the end of what is shown, and see that it is there."""
    await program.until(last, since=await program.press(END))


@pytest.mark.timeout(400)
async def test_no_field_of_the_dashboard_lets_a_control_sequence_through(tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "tests" / "hostile_dashboard.py"), str(tmp_path)]
    async with pty_program(argv, _environment(tmp_path), tmp_path, rows=ROWS, columns=COLUMNS) as program:
        # The folder's own things, then the list of agents.
        begun = await _armed(program, "Trust it?", 0)
        await program.until("K000(", since=begun)
        await _read_on(program, LAST)
        mark = await program.press("n")
        # A question: its command, tool, agent, model, folder, branch, rule.
        begun = await _armed(program, "asks: may", mark)
        await program.until("a saves", "K000(", since=begun)
        await _read_on(program, LAST)
        mark = await program.press("n")
        # A form: its message, fields, defaults, choices.
        begun = await _armed(program, "asks you", mark)
        await program.until("message K000(", since=begun)
        await _read_on(program, "K089(")
        mark = await program.press("e")
        await program.until("nothing is sent before y", since=mark)
        begun = await _armed(program, "One moment", await program.press("typed\x1b"))
        mark = await program.press("n")
        await program.until("90 idle", "name K000(", since=mark)
        mark = await program.press("\x1b[17;2~")
        await program.until(f"name {LAST}", since=mark)
        mark = await program.press("\x1b[17~")
        await program.until("to 1 name K000(", since=mark)
        # Rules, hooks, servers: rows, and what their verbs answer.
        mark = await program.press(F7)
        await program.until("Tools, rules and trust", "row K000(", since=mark)
        await _read_on(program, LAST)
        for words in TOASTS:
            mark = await program.press("\r")
            await program.until(f"toast {words[:5]}", since=mark)
        mark = await program.press("q")
        await program.until("name K000(", since=mark)
        # The palette, by name and by search.
        mark = await program.press("\x10")
        await program.until("profile K000(", since=mark)
        mark = await program.press("K08")
        await program.until("K080(", since=mark)
        mark = await program.press("\x1b")
        await program.until("name K000(", since=mark)
        # One agent alone: words, thoughts, calls, results, notices, ends.
        zoomed = mark = await program.press(F4)
        await program.until("to 1 name K000(", since=mark)
        await program.press(NEWEST)
        for words in ("notice K08", "tool K0", "said K08", "said K00"):
            await program.press_until(PAGE_UP, words, zoomed, back=NEWEST)
        await program.press(F3)
        await program.press_until(PAGE_UP, "thought K00", zoomed, back=NEWEST)
        # It is alive, answers keys, and did nothing that it was told by a string.
        mark = await program.press(F1)
        await program.until("How it works", since=mark)
        await program.draws(await program.press("q"))
        await program.press("\x11")
        assert await program.end() == 0
        _kept(program)
