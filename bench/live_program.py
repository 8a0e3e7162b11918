"""Owns the soaked process: the real dashboard (or the bare core), with somebody at it and a meter beside.

Refuses to judge. It says what it measures as lines of JSON on one descriptor, and ends early when the other
one says so. `bench/live.py` starts it.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import json
import os
import sys
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from live_figures import Sample, census, grown, sample, trimmed_mb
from live_heaps import owners_mb
from live_person import Person

from agent_tui.feed import Feed
from agent_tui.screens.tidying import tidy
from agent_tui_core.agent import requesting as requesting_room
from agent_tui_core.providers import http as http_room
from agent_tui_core.runtime.session import Session

SAMPLE_EVERY: Final = 2.0
REST_EVERY: Final = 240.0
"""Seconds of work between two rests; a shorter run has one before what is measured, and one after."""
COUNTED: Final = ("fds", "tasks", "processes")
SETTLE_SECONDS: Final = 40.0
STEADY: Final = 4
"""Looks in a row that have to be alike before a rest counts."""
KEPT_TURNS: Final = (20, 60)
"""Turns of the conversation that is never renewed: those before it is measured, and those that are."""
CACHED_LAYOUTS: Final = 6
"""Textual remembers the widgets of its last layouts: so many agents come and go before a rest counts."""
SAY: Final = "SOAK_SAY"
HEAR: Final = "SOAK_HEAR"


class Meter:
    """Lets the person work and rest in turns, and says what it saw."""

    def __init__(self, session: Session, options: argparse.Namespace, leave: Callable[[], None]) -> None:
        self.session, self.options, self._leave = session, options, leave
        acknowledged = options.folder / "acknowledged"
        self.person = Person(session, options.agents, options.seed, acknowledged)
        self._start = time.monotonic()
        self._enough = asyncio.Event()
        self._say = int(os.environ[SAY])
        asyncio.get_running_loop().add_reader(int(os.environ[HEAR]), self._hear)

    async def soak(self) -> None:
        """The whole of it; leaves the program afterwards, whatever happened."""
        living = asyncio.create_task(self.person.live(), name="person")
        try:
            await self._work(self.options.warm)
            before, types = await self._rest(living)
            if self.options.trace:
                tracemalloc.start(12)
                started = tracemalloc.take_snapshot()
            left = self.options.seconds - self.options.warm
            parts = max(1, round(left / REST_EVERY))
            for _ in range(parts):
                self.person.go_on()
                await self._work(left / parts)
                _, types_after = await self._rest(living, before)
            if self.options.trace:
                self._tell_traces(started)
            self._tell("grown", types=grown(types, types_after), did=self.person.did)
            if not self._enough.is_set():
                await self._tell_kept()
            self._tell(
                "done", session=self.session.id, complaints=self.person.complaints, did=self.person.did
            )
        except Exception as error:  # noqa: BLE001 - whoever started this has to know
            self._tell("broke", why="".join(traceback.format_exception(error)))
        finally:
            asyncio.get_running_loop().remove_reader(int(os.environ[HEAR]))
            living.cancel()
            await asyncio.wait({living})
            self.person.close()
            self._leave()

    def _hear(self) -> None:
        os.read(int(os.environ[HEAR]), 64)
        asyncio.get_running_loop().remove_reader(int(os.environ[HEAR]))
        self._enough.set()

    async def _work(self, seconds: float) -> None:
        """Measure while they work; ends early when somebody said so."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._enough.is_set():
            try:
                await asyncio.wait_for(self._enough.wait(), min(left, SAMPLE_EVERY))
            except TimeoutError:
                self._tell("sample", sample=asdict(self._look()), did=self.person.did)

    async def _rest(
        self, living: asyncio.Task[None], before: Sample | None = None
    ) -> tuple[Sample, Counter[str]]:
        """Have no agent, wait until nothing moves any more, and count."""
        self._tell("resting")
        resting = asyncio.create_task(self.person.rest())
        await asyncio.wait({resting, living}, return_when=asyncio.FIRST_COMPLETED)
        if living.done():
            resting.cancel()
            await living
        for _ in range(CACHED_LAYOUTS):
            worker = await self.session.add_worker("steady")
            await asyncio.sleep(0.2)
            await self.session.remove_worker(worker.id)
        found, alike, give_up = self._look(), 0, time.monotonic() + SETTLE_SECONDS
        while alike < STEADY and time.monotonic() < give_up:
            await asyncio.sleep(0.5)
            last, found = found, self._look()
            good = all(
                getattr(found, each) == getattr(last, each) <= getattr(before or last, each)
                for each in COUNTED
            )
            alike = alike + 1 if good else 0
        tidy()
        types = census()
        gc.collect()
        found = self._look()
        tasks = sorted(task.get_name() for task in asyncio.all_tasks())
        files, trimmed = _open_files(), trimmed_mb()
        self._tell(
            "rest", sample=asdict(found), tasks=tasks, files=files, trimmed=trimmed, owners=owners_mb()
        )
        return found, types

    def _look(self) -> Sample:
        return sample(time.monotonic() - self._start)

    async def _tell_kept(self) -> None:
        """What one turn of a conversation that is never renewed keeps in memory."""
        warm, count = KEPT_TURNS
        worker = await self.session.add_worker("steady")
        await self.person.take_turns(worker, 1, warm)
        gc.collect()
        tracemalloc.start()
        await self.person.take_turns(worker, 1 + warm, count)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self._tell("kept", bytes_per_turn=kept / count)

    def _tell_traces(self, started: tracemalloc.Snapshot) -> None:
        hidden = tracemalloc.Filter(inclusive=False, filename_pattern=tracemalloc.__file__)
        ended = tracemalloc.take_snapshot().filter_traces([hidden])
        ranked = ended.compare_to(started, "traceback")[:25]
        lines = [
            f"{each.size_diff:+} bytes, {each.count_diff:+} blocks\n" + "\n".join(each.traceback.format())
            for each in ranked
        ]
        tracemalloc.stop()
        (self.options.folder / "traces").write_text("\n\n".join(lines))
        self._tell("traces", lines=lines)

    def _tell(self, kind: str, **facts: object) -> None:
        os.write(self._say, json.dumps({"kind": kind, **facts}).encode() + b"\n")


def _open_files() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the listing's own
            continue
    return sorted(found)


# --- the two programs ---------------------------------------------------------------------------------------


def be_dashboard(options: argparse.Namespace) -> int:
    """Run the real program with the meter in its event loop."""
    from textual._context import active_app

    from agent_tui.app import AgentTuiApp
    from agent_tui.cli import run

    start = Feed.start
    soaks: list[asyncio.Task[None]] = []

    def start_metered(feed: Feed) -> None:
        start(feed)
        app = active_app.get()
        assert isinstance(app, AgentTuiApp)
        session = app.session
        assert isinstance(session, Session)
        meter = Meter(session, options, app.exit)
        soaks.append(asyncio.create_task(meter.soak(), name="meter"))

    setattr(Feed, "start", start_metered)  # noqa: B010 - measuring the program is what this file is for
    return run(["--workspace", str(options.folder / "workspace")])


def be_core(options: argparse.Namespace) -> int:
    """Run a session alone; a feed folds its events, as panes would."""
    from agent_tui_core.config.load import load_settings
    from agent_tui_core.config.profiles import Flags, plan
    from agent_tui_core.runtime.session import open_session

    async def live() -> None:
        flags = Flags(workspace=options.folder / "workspace")
        planned = plan(load_settings(None, environ=os.environ), flags, os.environ)
        async with open_session(planned) as session:
            feed = Feed()
            feed.start()
            session.watch(lambda: feed.follow(session.workers))
            feed.follow(session.workers)
            await Meter(session, options, feed.stop).soak()

    asyncio.run(live())
    return 0


def main() -> int:
    """Soak one of them; the exit code is the program's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--agents", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    setattr(requesting_room, "FIRST_DELAY", 0.05)  # noqa: B010 - the program's patience, for an hour's faults
    client = functools.partial(http_room.http_client, connect_timeout=3.0, idle_timeout=2.0)
    setattr(http_room, "http_client", client)  # noqa: B010
    return be_core(options) if options.core else be_dashboard(options)


if __name__ == "__main__":
    sys.exit(main())
