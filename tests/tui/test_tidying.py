"""When garbage is collected as a whole: in time, and not while somebody types."""

from __future__ import annotations

import asyncio
import gc
import os
import weakref
from pathlib import Path

import pytest
from textual.geometry import Region

from agent_tui.screens import tidying
from agent_tui.screens.tidying import EVERY, LATEST, QUIET, Tidying
from dashboard_pilot import dashboard
from scripted_session import ScriptedSession, scripted_plan


class Clock:
    now = key = 100.0

    def __call__(self) -> float:
        return self.now


async def test_all_garbage_is_collected_now_and_then_but_not_while_somebody_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walks: list[float] = []
    clock = Clock()
    monkeypatch.setattr(gc, "collect", lambda: walks.append(clock.now))
    tidy = Tidying(lambda: clock.key, clock)
    for clock.now, clock.key in (
        (100 + EVERY / 2, 0),
        (100 + EVERY, 100 + EVERY - QUIET / 2),
        (101 + EVERY, 100 + EVERY),
        (102 + EVERY, 0),
        (100 + EVERY + LATEST, 100 + EVERY + LATEST),
        (101 + EVERY + LATEST, 101 + EVERY + LATEST),
    ):
        tidy.look()
        await asyncio.sleep(0)
    assert walks == [101 + EVERY, 101 + EVERY + LATEST]


async def test_a_dashboard_frees_circles_that_outlived_the_young(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Circle:
        pass

    monkeypatch.setattr(tidying, "EVERY", 0.0)
    session = ScriptedSession(scripted_plan(tmp_path), "one", "two")
    async with dashboard(session) as driver:
        circle = Circle()
        circle.itself = circle  # type: ignore[attr-defined]
        gone = weakref.ref(circle)
        gc.collect()
        del circle
        driver.app.feed.wake()
        await driver.until(lambda: gone() is None)


@pytest.mark.skipif(tidying._glibc() is None, reason="another C library than glibc")
async def test_memory_between_what_is_in_use_goes_back_to_the_system() -> None:
    blocks = [bytearray(10_000) for _ in range(4_000)]
    pins = blocks[::50]
    full = resident()
    del blocks
    clock = Clock()
    tidy = Tidying(lambda: 0.0, clock)
    clock.now += EVERY
    tidy.look()
    while resident() > full - 20_000_000:
        await asyncio.sleep(0)
    assert len(pins) == 80


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_a_cache_of_many_rows_is_emptied_and_a_small_one_is_kept() -> None:
    many = Region.intersection
    assert many in tidying.large_caches()
    assert len(tidying.large_caches()) >= 4
    for count, left in ((tidying._MOST_CACHED + 1, 0), (10, 10)):
        many.cache_clear()
        for number in range(count):
            many(Region(0, 0, number + 1, 1), Region(0, 0, 1, 1))
        clock = Clock()
        tidy = Tidying(lambda: 0.0, clock)
        clock.now += EVERY
        tidy.look()
        await asyncio.sleep(0)
        assert many.cache_info().currsize == left
