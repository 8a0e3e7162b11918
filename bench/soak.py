"""Owns long runs of the core's properties: so many examples, in slices with a seed each, several at a time.

Refuses to judge: each slice is a pytest of its own, whose words are shown when it fails. `make properties`:

    python bench/soak.py                                  # all of them, 100,000 examples each, two at a time
    python bench/soak.py machine --examples 5000          # one of them, shorter
    python bench/soak.py machine --seed 17 --slices 1     # a slice that failed, again
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ORDER = "core/wire/test_any_order.py"
_MACHINE = "core/loop/test_loop_machine.py"
PROPERTIES: dict[str, tuple[str, ...]] = {
    "slicing": (
        "core/wire/test_sse.py::test_any_bytes_in_any_slices_mean_what_the_standard_says",
        f"{_ORDER}::test_any_slicing_of_any_answer_gives_the_same_events",
    ),
    "interleaving": (
        f"{_ORDER}::test_any_interleaving_of_calls_gives_the_same_blocks",
        f"{_ORDER}::test_calls_are_told_apart_however_a_server_names_their_pieces",
    ),
    "machine": (
        f"{_MACHINE}::test_no_order_of_events_breaks_the_conversation_or_leaves_a_run_without_its_end",
    ),
    "questions": (
        (
            "tui/test_whole_questions.py::"
            "test_every_character_that_runs_is_on_the_screen_or_words_say_that_more_follows"
        ),
    ),
}
MOST: dict[str, int] = {"questions": 20_000}
"""Each of these is drawn into a terminal, which takes a thousand times longer than the others."""
EXAMPLES_VARIABLE = "AGENT_TUI_EXAMPLES"
"""What `tests/properties.py` reads."""
IN_A_SLICE = 1_000
"""Examples. Hypothesis remembers what it tried, so a long slice is slower than several short ones."""


@dataclass(frozen=True)
class Slice:
    """A part of the examples of one property."""

    name: str
    seed: int
    examples: int


@dataclass(frozen=True)
class Outcome:
    """How a slice ended; `words` are pytest's."""

    slice: Slice
    passed: bool
    words: str


def main(arguments: list[str]) -> int:
    """Run what was asked for; 0 when everything held, 1 when not, 130 when interrupted."""
    asked = _parser().parse_args(arguments)
    slices = list(_slices(asked.properties or list(PROPERTIES), asked.examples, asked.seed, asked.slices))
    if unknown := set(asked.properties) - set(PROPERTIES):
        print(f"soak: there is no property {', '.join(sorted(unknown))}; there are {', '.join(PROPERTIES)}")
        return 2
    try:
        failed, done = _run(slices, asked.processes)
    except KeyboardInterrupt:
        print("\nsoak: interrupted")
        return 130
    tried = ", ".join(f"{count:,} of {name}" for name, count in done.items())
    seeds = "".join(f"; {each.name} --seed {each.seed} --slices 1" for each in failed)
    print(f"soak: {'FAILED' + seeds if failed else 'all held'}: {tried or 'nothing'}", flush=True)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/soak.py",
        description="Try the properties of the core with many examples.",
        epilog="example: python bench/soak.py machine --examples 5000",
    )
    parser.add_argument("properties", nargs="*", help=f"{', '.join(PROPERTIES)}; all without it")
    parser.add_argument("--examples", type=int, default=100_000, help="of each (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="at a time (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the first slice (default: %(default)s)")
    parser.add_argument("--slices", type=int, help="no more than this of each")
    return parser


def _slices(names: list[str], examples: int, seed: int, most: int | None) -> Iterator[Slice]:
    """A slice of each in turn, so that an interrupted soak has tried all of them."""
    count = -(-examples // IN_A_SLICE)
    for number in range(count if most is None else min(count, most)):
        for name in (name for name in names if name in PROPERTIES):
            left = min(examples, MOST.get(name, examples)) - number * IN_A_SLICE
            if left > 0:
                yield Slice(name, seed + number, min(IN_A_SLICE, left))


def _run(slices: list[Slice], processes: int) -> tuple[list[Slice], dict[str, int]]:
    """What failed, and how many examples of each were tried."""
    began, failed, done = time.monotonic(), list[Slice](), dict[str, int]()
    with ThreadPoolExecutor(processes) as pool:
        waiting: set[Future[Outcome]] = {pool.submit(_tried, each) for each in slices}
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for outcome in (future.result() for future in ended):
                    _tell(outcome, failed, done)
                share = 1 - len(waiting) / len(slices)
                left = (time.monotonic() - began) * (1 / share - 1)
                told = ", ".join(f"{name} {count:,}" for name, count in done.items())
                print(f"{share:6.1%}  {told}  about {left / 60:.0f} min left", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return failed, done


def _tell(outcome: Outcome, failed: list[Slice], done: dict[str, int]) -> None:
    each = outcome.slice
    done[each.name] = done.get(each.name, 0) + each.examples
    if not outcome.passed:
        failed.append(each)
        print(f"\n--- {each.name}, seed {each.seed} ---\n{outcome.words}", flush=True)


def _tried(each: Slice) -> Outcome:
    tests = [str(ROOT / "tests" / test) for test in PROPERTIES[each.name]]
    options = ["-p", "no:cacheprovider", "--show-capture=no", "--timeout=0", f"--hypothesis-seed={each.seed}"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, *tests],
        cwd=ROOT,
        env={**os.environ, EXAMPLES_VARIABLE: str(each.examples)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Outcome(each, ended.returncode == 0, ended.stdout)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
