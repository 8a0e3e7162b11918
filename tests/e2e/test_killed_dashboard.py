"""The real dashboard, killed again and again: each prompt that it showed is there afterwards, once."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from loopback import HANG, Answer, LoopbackServer, Request, finish, json_answer, say, text
from pty_program import PtyProgram, pty_program, terminal_environment
from terminal_rows import drawn_rows

_SHOWN = re.compile(r"(?:queued|[┊▌]) (p\d{3}-\d)\b")
"""A prompt that the screen says is queued, or that stands in a conversation."""
_PROMPT = re.compile(r"p\d{3}-\d")
COLUMNS = 120
MOMENT = 0.3
"""Seconds between what is waited for and the kill, at most."""
PATIENCE = 10.0


class Killing:
    """One session through many lives. The dice decide what is said, what is answered and when a life ends."""

    def __init__(self, folder: Path, server: LoopbackServer, dice: random.Random) -> None:
        self.shown: set[str] = set()
        """Every prompt that any life said it has."""
        self.tried = 0
        self.lives = 0
        self.queued_at_ends = 0
        self._folder, self._server, self._dice = folder, server, dice
        self._data = folder / "data"
        common = ("--base-url", server.base_url, "-m", "m")
        self._argv = (sys.executable, "-m", "agent_tui", *common)

    async def live(self) -> None:
        """Start, look whether everything is there, say something, and be killed."""
        begun = self._data.exists() and any(self._data.glob("history.db"))
        argv = [*self._argv, *(["--resume"] if begun else ["-n", "2"])]
        environment = terminal_environment(self._folder)
        async with pty_program(argv, environment, self._folder, rows=40, columns=COLUMNS) as program:
            self.lives += 1
            if begun and self._dice.random() < 0.1:  # while it takes up what the life before left
                await asyncio.sleep(self._dice.uniform(0, 1.0))
            else:
                await program.until("to 1 ")
                self.check()
                asked = len(self._server.requests)
                await self._until(self._dice.randint(0, 3), program, await self._say(program), asked)
            await asyncio.sleep(self._dice.uniform(0, MOMENT) ** 2 / MOMENT)
            os.kill(program.pid, signal.SIGKILL)
            assert await program.end() == -signal.SIGKILL
            self.shown |= _shown(program)
        if begun:
            self.queued_at_ends += len(self._stored()[1])

    async def _until(self, moment: int, program: PtyProgram, last: str, asked: int) -> None:
        """Wait until its last prompt was drawn, or shown as kept, or a model was asked; or not at all."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                if moment == 1:
                    await program.until(last)
                elif moment == 2:
                    mark = 0
                    while last not in _shown(program):
                        mark = await program.draws(mark)
                elif moment == 3:
                    await self._server.until(lambda: len(self._server.requests) > asked)

    async def _say(self, program: PtyProgram) -> str:
        for number in range(self._dice.randint(1, 4)):
            agent = self._dice.choice("12")
            goes_on = self._dice.choice(["", "", "\x1b[20~"])  # f9
            await program.press(f"\x1b{agent}{goes_on}p{self.lives:03}-{number}\r")
            self.tried += 1
            if self._dice.random() < 0.5:
                await asyncio.sleep(self._dice.uniform(0, MOMENT))
        return f"p{self.lives:03}-{number}"

    def check(self) -> None:
        """Each prompt that was shown is once in the history or in the queue, and no prompt is there twice."""
        said, queued = self._stored()
        found = Counter([*said, *queued])
        assert self.shown <= found.keys(), f"lost: {sorted(self.shown - found.keys())}: {self._all()}"
        doubled = [each for each in found if found[each] > 1]
        assert not doubled, f"doubled: {doubled}: {self._all()}"

    def _all(self) -> str:
        """All that history has, to see what became of a prompt."""
        tables = ("runs", "messages", "queued_prompts")
        with closing(sqlite3.connect(self._data / "history.db")) as file:
            rows = [file.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
        return "\n".join(str(row) for table in rows for row in table)

    def _stored(self) -> list[list[str]]:
        with closing(sqlite3.connect(self._data / "history.db")) as file:
            said = file.execute("SELECT blocks FROM messages WHERE role = 'user'").fetchall()
            queued = file.execute("SELECT text FROM queued_prompts").fetchall()
        return [_PROMPT.findall(" ".join(words for (words,) in rows)) for rows in (said, queued)]


def _shown(program: PtyProgram) -> set[str]:
    """The prompts that its screen ever said it has."""
    rows = drawn_rows(bytes(program.output), columns=COLUMNS)
    return {prompt for row in rows for prompt in _SHOWN.findall(row)}


def _answers(dice: random.Random, request: Request) -> Answer:
    if request.method == "GET":
        return json_answer({"data": [{"id": "m"}]})
    return dice.choice(
        [
            *[say("At once.")] * 6,
            Answer(0.1, text("A little "), 0.1, text("later."), finish(), b"data: [DONE]\n\n"),
            Answer(text("And then nothing"), HANG),
            Answer(HANG),
        ]
    )


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.soak)])
async def test_a_prompt_that_was_shown_survives_any_kill_and_is_there_once(
    tmp_path: Path, kills: int, record_property: Callable[[str, object], None]
) -> None:
    dice = random.Random(os.environ.get("KILLING", "5"))
    async with LoopbackServer(lambda request: _answers(dice, request)) as server:
        killing = Killing(tmp_path, server, dice)
        for _ in range(kills):
            await killing.live()
        argv = [*killing._argv, "--resume"]
        async with pty_program(argv, terminal_environment(tmp_path), tmp_path) as program:
            await program.until("to 1 ")
            killing.check()
            await program.press("\x11")  # ctrl+q: nothing runs
            assert await program.end() == 0
        killing.check()
    figures = (
        f"{killing.lives} kills: {killing.tried} prompts typed, {len(killing.shown)} shown, none lost "
        f"or doubled, {killing.queued_at_ends / kills:.1f} queued at a kill, {len(server.requests)} requests"
    )
    record_property("figures", figures)
    sys.stderr.write(f"{figures}\n")
    assert len(killing.shown) >= killing.tried / 4, "the screen says of many that it has them"
