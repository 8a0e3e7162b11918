"""Soaks the whole program: 20 agents at work in a real terminal for some minutes, then a verdict in one line.

Refuses to judge by what the program says of itself alone: descriptors, tasks, processes, memory and the
database are counted. Run by `make soak`, or `make soak MINUTES=30`:

    python bench/live.py                         # 10 minutes
    python bench/live.py --minutes 2 --core      # the runtime alone, without a screen
    python bench/live.py --minutes 5 --trace     # where the memory that was gained comes from (slower)

The agents talk to servers in another process (`live_model.py`: a scripted model, and the fault table's broken
networks); a person (`live_person.py`) prompts, interrupts, answers and renews them; keys come from here.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from live_figures import Slope, complaints, slope
from live_heaps import in_use_mb
from live_terminal import COLUMNS, ROWS, Program, Seen

SIZES: Final = ((60, 200), (36, 120), (24, 80), (60, 200), (60, 200))
PROGRESS_EVERY: Final = 30.0
SHORTEST: Final = 300.0
"""Seconds of work below which memory is not judged: caches fill, and conversations grow up."""
ENDS_WITHIN: Final = 150.0
"""Seconds from the end of the time to the end of the program: the last turns, a rest, the kept turns."""
KEYS: Final = (
    ("x", "\x7f"),
    ("what about this", *["\x7f"] * 15),
    ("\x1b[17~",),
    ("\x1b[17~",),
    ("\x1bOS", "\x1bOS"),
    ("\x1bOR",),
    ("\x1bOP", "\x1b"),
    ("\x1b[18~", "\x1b[B", "\x1b"),
    ("\x10", "th", "\x1b"),
    ("\x1b[5~", "\x1b[5~", "\x1b[1;5F"),
    ("\x1bOQ", "y", "\x7f"),
    ("\x1b",),
)
"""What a person does: write, choose, zoom, fold, look at help, rooms and palette, scroll, answer, stop."""
HURRY: Final = 0.35
"""Times the usual pauses between keys, before the first rest."""
REST_KEYS: Final = ("\x1b", "\x1b", "\x1b")


def main() -> int:
    """0: it held; 1: it did not; 130: ended by ctrl+c, with the verdict of what was seen."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="agent-tui-soak-"))
    seen, interrupted = Seen(), False
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from live_settings import environment, prepare

    told = dict(environment(folder))
    here = Path(__file__).resolve().parent
    command = [sys.executable, str(here / "live_model.py"), str(options.seed)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=told, start_new_session=True) as server:
        try:
            assert server.stdout is not None
            good, broken = server.stdout.readline().decode().split()
            prepare(folder, good, broken, options.agents)
            screen = "without a screen" if options.core else "on the dashboard"
            print(
                f"soak: {options.agents} agents {screen} for {_clock(options.seconds)}, measured after "
                f"{_clock(options.warm)}, seed {options.seed}",
                flush=True,
            )
            program = Program(_command(here, folder, options), told, folder)
            try:
                interrupted = _watch(program, seen, options)
            finally:
                program.close()
        finally:
            server.terminate()
    wrong, words = _judged(program, seen, folder)
    return _tell_verdict(wrong, words, folder, interrupted, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/live.py",
        description="Let 20 agents work for some minutes, and say what was gained, lost or broken.",
        epilog="example: python bench/live.py --minutes 30",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: %(default)g)")
    parser.add_argument("--agents", type=int, default=20, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is random (default: %(default)s)")
    parser.add_argument("--core", action="store_true", help="without the dashboard")
    parser.add_argument("--trace", action="store_true", help="say where memory that was gained comes from")
    parser.add_argument("--keep", action="store_true", help="keep its folder")
    options = parser.parse_args()
    options.seconds = options.minutes * 60
    if options.seconds <= 0 or not 1 <= options.agents <= 64:
        parser.error("--minutes is more than 0, --agents from 1 to 64")
    options.warm = options.seconds / 3
    return options


def _command(here: Path, folder: Path, options: argparse.Namespace) -> list[str]:
    command = [sys.executable, str(here / "live_program.py"), str(folder), "--agents", str(options.agents)]
    command += ["--seconds", str(options.seconds), "--warm", str(options.warm), "--seed", str(options.seed)]
    return command + ["--core"] * options.core + ["--trace"] * options.trace


# --- while it runs ------------------------------------------------------------------------------------------


def _watch(program: Program, seen: Seen, options: argparse.Namespace) -> bool:
    """Be its terminal until it ends; says whether ctrl+c ended it."""
    interrupted = False
    begin = time.monotonic()
    give_up = begin + options.seconds * (2 if options.trace else 1) + 2 * ENDS_WITHIN
    next_words = begin + PROGRESS_EVERY
    grown = begin + options.warm / 2
    keys = _keys(random.Random(options.seed), program, seen, lambda: time.monotonic() > grown)
    next_key = begin + 3.0
    while time.monotonic() < give_up:
        try:
            if not program.read(0.2, seen):
                break
            now = time.monotonic()
            if now >= next_key and not options.core:
                next_key = now + next(keys)
            if now >= next_words:
                next_words = now + PROGRESS_EVERY
                _tell_progress(now - begin, seen, options)
        except KeyboardInterrupt:
            if interrupted:
                break
            interrupted = True
            print("\nsoak: ending early (ctrl+c again: at once)", flush=True)
            give_up = time.monotonic() + ENDS_WITHIN
            program.stop()
    return interrupted


def _keys(dice: random.Random, program: Program, seen: Seen, grown: Callable[[], bool]) -> Iterator[float]:
    """Press a key each time; gives the seconds until the next.

    Until all has `grown` the screen stays at its largest, and rests are all of one size. Until the first rest
    keys come faster: what is remembered of drawn rows, layouts and keys shall be full by then.
    """
    rested = False
    while True:
        if seen.resting:
            if not rested:
                program.resize(ROWS, COLUMNS)
                for key in REST_KEYS:
                    program.press(key)
                    yield 1.0
            rested = True
            yield 0.5
            continue
        rested = False
        pace = 1.0 if seen.rests else HURRY
        if grown() and dice.random() < 0.05:
            program.resize(*dice.choice(SIZES))
            yield 2.0
        for key in dice.choice(KEYS):
            program.press(key)
            yield pace * dice.uniform(0.3, 1.2)
        yield pace * dice.uniform(0.5, 3.0)


def _tell_progress(seconds: float, seen: Seen, options: argparse.Namespace) -> None:
    if not seen.samples:
        print(f"  {_clock(seconds)}  starting", flush=True)
        return
    last, did = seen.samples[-1], seen.did
    shown = ", ".join(
        f"{did.get(name, 0)} {name}" for name in ("prompts", "interrupts", "answers", "agents renewed")
    )
    print(
        f"  {_clock(seconds)} of {_clock(options.seconds)}  {last.rss_mb:.1f} MB  {last.fds} fds  "
        f"{last.tasks} tasks  {last.processes} processes · {shown}",
        flush=True,
    )


# --- afterwards ---------------------------------------------------------------------------------------------


def _judged(program: Program, seen: Seen, folder: Path) -> tuple[list[str], str]:
    """What did not hold, and what is to be said in any case."""
    memory, rests = _growths(seen), seen.at_rests()
    wrong = complaints(memory, *(rests[0], rests[-1]) if rests else (None, None))
    if "broke" in seen.facts:
        wrong.append(f"the soak itself broke: {seen.facts['broke']['why']}")
    if program.exit_code != 0:
        wrong.append(f"the program ended with {program.exit_code}: {program.tail[-300:]!r}")
    words = "what was stored was not looked at"
    if (done := seen.facts.get("done")) is not None:
        wrong += done["complaints"]
        from live_stored import look

        complained, words = look(folder, done["session"])
        wrong += complained
    elif "broke" not in seen.facts:
        wrong.append("the program ended before its end")
    if len(seen.rests) < 2 and not wrong:
        wrong.append("there were not two rests to compare")
    _tell_details(memory, seen, bool(wrong))
    grew = ", ".join(f"{kind} {rate}" for kind, rate in memory.items())
    return wrong, f"{grew} MB/h, {words}"


def _growths(seen: Seen) -> dict[str, Slope]:
    """Of memory at rest where there were rests enough, else of memory at work."""
    if len(seen.rests) > 2:
        times = [each.at for each in seen.at_rests()]
        grew = {"memory": slope(times, [rest["trimmed"] for rest in seen.rests])}
        used = [in_use_mb(rest["owners"]) for rest in seen.rests]
        return grew | ({"memory in use": slope(times, used)} if all(used) else {})
    samples = seen.measured()
    if not samples or samples[-1].at - samples[0].at < SHORTEST:
        return {"memory": Slope(0.0, math.inf)}
    return {"memory": slope([each.at for each in samples], [each.rss_mb for each in samples])}


def _tell_details(memory: Mapping[str, Slope], seen: Seen, failed: bool) -> None:
    samples, rests = seen.measured(), seen.at_rests()
    at_work = slope([each.at for each in samples], [each.rss_mb for each in samples])
    if len(rests) > 2:
        for kind, rate in memory.items():
            print(f"  {kind} at rest: {rate} MB/h; twice the error")
    print(f"  memory at work: {at_work} MB/h; twice the error")
    if len(rests) > 1:
        first, last = rests[0], rests[-1]
        print(
            f"  at {len(rests)} rests, without agents: "
            f"{' → '.join(format(rest['trimmed'], '.1f') for rest in seen.rests)} MB, "
            f"{first.blocks:,} → {last.blocks:,} objects, {first.fds} → {last.fds} fds, "
            f"{first.tasks} → {last.tasks} tasks, {first.threads} → {last.threads} threads, "
            f"{first.processes} → {last.processes} processes"
        )
    for owner in seen.rests[0]["owners"] if seen.rests else ():
        values = " → ".join(format(rest["owners"].get(owner, 0.0), ".1f") for rest in seen.rests)
        print(f"    {owner}: {values} MB")
    if types := seen.facts.get("grown", {}).get("types"):
        print("  more of: " + ", ".join(f"{name} +{count}" for name, count in types.items()))
    if failed and len(rests) > 1:
        for what in ("tasks", "files"):
            before = list(seen.rests[0][what])
            for each in seen.rests[-1][what]:
                if each in before:
                    before.remove(each)
                else:
                    print(f"  not there at the first rest: {what[:-1]} {each}")
    if kept := seen.facts.get("kept"):
        kilobytes = kept["bytes_per_turn"] / 1000
        print(f"  a conversation that is never renewed keeps {kilobytes:.1f} kB of each turn")
    print("  " + ", ".join(f"{count} {name}" for name, count in sorted(seen.did.items())))
    for line in seen.facts.get("traces", {}).get("lines", [])[:10]:
        print(line)


def _tell_verdict(
    wrong: list[str], words: str, folder: Path, interrupted: bool, options: argparse.Namespace
) -> int:
    if options.keep or wrong:
        print(f"  its folder: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    early = " (ended early)" if interrupted else ""
    if wrong:
        print(f"soak: FAILED{early}: {'; '.join(wrong)}", flush=True)
    else:
        print(f"soak: held{early}: {words}, nothing gained at rest, database whole", flush=True)
    return 130 if interrupted else 1 if wrong else 0


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


if __name__ == "__main__":
    sys.exit(main())
