"""Owns where an agent's loop is made: what may take its time keeps no screen waiting."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import cast

import pytest

from agent_tui_core.runtime.later import Makings
from agent_tui_core.runtime.runner import Runner

HERE, THERE = Path("/here"), Path("/there")


async def test_the_first_of_each_folder_is_made_in_a_thread_and_the_others_in_place() -> None:
    threads: list[bool] = []

    def make() -> Runner:
        threads.append(threading.current_thread() is not threading.main_thread())
        return cast("Runner", object())

    makings = Makings()
    await asyncio.gather(*(makings.make(make, folder) for folder in (HERE, HERE, THERE, HERE, THERE)))
    assert threads == [True, False, True, False, False]


async def test_one_that_fails_is_tried_in_a_thread_again() -> None:
    threads: list[bool] = []

    def make() -> Runner:
        threads.append(threading.current_thread() is not threading.main_thread())
        if len(threads) == 1:
            raise OSError("stale file handle")
        return cast("Runner", object())

    makings = Makings()
    with pytest.raises(OSError, match="stale"):
        await makings.make(make, HERE)
    await makings.make(make, HERE)
    assert threads == [True, True]
