from __future__ import annotations

import os
import pty
import selectors
import signal
import threading
import tty
from collections.abc import Iterator
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from textual import events

from agent_tui.screens.terminal_input import TerminalReader, quiet_driver


class Reading:
    """The thread that reads a terminal, and what it hands on."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.open = {self.master, self.slave}
        self.said: Queue[Any] = Queue()
        self.reader = TerminalReader(lambda: None)
        driver: Any = SimpleNamespace(fileno=self.slave, _debug=False, process_message=self.said.put)
        self.thread = threading.Thread(target=self.reader.read, args=(driver,))
        self.thread.start()

    def key(self) -> str:
        while True:
            event = self.said.get(timeout=10)
            if isinstance(event, events.Key):
                return event.key

    def end(self) -> None:
        if self.open:
            self.reader.end(self.thread)
        while self.open:
            os.close(self.open.pop())

    def hang_up(self) -> None:
        self.open.discard(self.master)
        os.close(self.master)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """How long the thread was ready to sleep, each time."""
    asked: list[float | None] = []
    select = selectors.SelectSelector.select

    def noted(self: Any, timeout: float | None = None) -> Any:
        asked.append(timeout)
        return select(self, timeout)

    monkeypatch.setattr(selectors.SelectSelector, "select", noted)
    return asked


@pytest.fixture
def reading(waits: list[float | None]) -> Iterator[Reading]:
    made = Reading()
    yield made
    made.end()


def test_keys_arrive_and_between_them_nobody_wakes(reading: Reading, waits: list[float | None]) -> None:
    for typed in (b"\xc3", b"\xa4x\r"):
        os.write(reading.master, typed)
    assert [reading.key() for _ in range(3)] == ["ä", "x", "enter"]
    assert set(waits) == {None}


def test_a_lone_escape_is_a_key_when_no_more_comes(reading: Reading, waits: list[float | None]) -> None:
    os.write(reading.master, b"\x1b")
    assert reading.key() == "escape"
    os.write(reading.master, b"x")
    assert reading.key() == "x"
    assert waits[-1] is None


def test_it_ends_at_once_though_nothing_is_typed(reading: Reading) -> None:
    reading.end()
    assert not reading.thread.is_alive()


def test_a_terminal_that_is_gone_is_told_as_the_kernel_tells_it(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: Queue[int] = Queue()
    monkeypatch.setattr(os, "kill", lambda _pid, number: told.put(number))
    reading.hang_up()
    assert told.get(timeout=10) == signal.SIGHUP
    reading.thread.join(10)
    assert not reading.thread.is_alive()


def test_a_program_that_is_continued_as_it_leaves_starts_no_reader_again() -> None:
    kind: Any = quiet_driver(lambda: None)
    driver = kind.__new__(kind)
    driver._writer_thread = driver._key_thread = None
    driver.close()
    before = threading.active_count()
    driver.start_application_mode()
    assert driver._reader is None
    assert threading.active_count() == before


def test_a_driver_that_was_named_is_textuals_business(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXTUAL_DRIVER", "some.module:Driver")
    assert quiet_driver(lambda: None) is None
