"""Runs every measurement and writes `bench/results.md`, part by part, with the date and the machine in words.

Refuses to go on after a part that lost text; a part whose library is missing says so and the others go on.

    make bench                # within ten minutes on a machine that has nothing else to do
    make bench QUICK=1        # within one
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import time
from pathlib import Path

from tables import QUICK, machine

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.md"
WHOLE: tuple[tuple[str, list[str]], ...] = (
    ("sse.py", []),
    ("client.py", []),
    ("panes.py", ["--agents", "1,4,8,16,64", "--seconds", "2"]),
    ("panes.py", ["--agents", "32", "--seconds", "8", "--history", "0,20000,200000"]),
    ("panes.py", ["--agents", "32", "--seconds", "4", "--size", "400x120"]),
    ("panes.py", ["--agents", "1", "--seconds", "5", "--history", "1000000"]),
    ("panes.py", ["--agents", "64", "--seconds", "5", "--rate", "200"]),
    ("panes.py", ["--agents", "16", "--seconds", "1", "--rate", "800", "--saturate"]),
    ("plain.py", ["--panes", "4,16,32", "--seconds", "2"]),
    ("waiting.py", []),
    ("startup.py", []),
    ("history.py", []),
    ("memory.py", []),
)
QUICKLY: tuple[tuple[str, list[str]], ...] = (
    ("sse.py", []),
    ("client.py", []),
    ("panes.py", ["--agents", "32", "--seconds", "1"]),
    ("plain.py", ["--panes", "8", "--seconds", "1"]),
    ("waiting.py", []),
    ("startup.py", ["--rounds", "1"]),
    ("history.py", []),
    ("memory.py", []),
)
PARTS = QUICKLY if QUICK else WHOLE
HEAD = """# Measurements

{when}, {machine}. {how}: `make bench{quick}` repeats it. What is compared ran in turns, in one run;
figures are medians and processor time unless they say otherwise. Read the ratios rather than the digits.

"""


def main() -> int:
    """Run all parts; return 1 when one failed."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    quick = " QUICK=1" if QUICK else ""
    how = "A quick run" if QUICK else "A whole run"
    said = [HEAD.format(when=today, machine=machine(), how=how, quick=quick)]
    failed = 0
    for name, arguments in PARTS:
        print(" ".join([name, *arguments, "…"]), end=" ", flush=True)
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, str(FOLDER / name), *arguments], capture_output=True, text=True
        )
        print(f"{time.monotonic() - began:.0f} s", flush=True)
        out = done.stdout.strip()
        said.append(out if "|--" in out else f"## {name.removesuffix('.py').title()}\n\n```\n{out}\n```")
        if done.returncode:
            failed = 1
            why = (done.stderr.strip().splitlines() or ["without a word"])[-1]
            said.append(f"{name} failed: {why}")
            print(why, file=sys.stderr)
        RESULTS.write_text("\n\n".join(said) + "\n")
    print(f"written: {RESULTS.name}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
