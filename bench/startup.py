"""Measures the time from the start of the process to the first frame, and to the first token of a server.

Refuses to guess: all run in a real pseudo-terminal of 120x36, in turns, and a frame or a token counts when
its text can be read there. The tokens come over HTTP from a server in another process.

    python bench/startup.py [--rounds 9] [--check] [--imports]
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tables import QUICK, ROOT, Table

sys.path[:0] = [str(ROOT / "core")]
from streaming import Answers, serve, served  # noqa: E402

SIZE = (36, 120)
ROUNDS = 3 if QUICK else 9
LIMIT = 2.0
"""Times the minimal app: what `--check` allows."""
PATIENCE = 30.0
MARK = "first frame of the minimal app"
MINIMAL = f"""
from textual.app import App, ComposeResult
from textual.widgets import Static

class Minimal(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("{MARK}")

Minimal().run()
"""
IMPORT = f"import textual.app; print('{MARK}')"
EVERYTHING = "import agent_tui.launch, agent_tui.app, agent_tui_core.runtime.session"
FRAME_SAYS = "^q quit"
"""Stands in the footer of the dashboard, which is painted with all the rest."""
TOKEN_SAYS = "Grüße"
"""The first token of the server's answer."""
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")


def main() -> int:
    """Measure and print; return 1 when `--check` was said and the limit is passed."""
    if sys.argv[1:] == ["--serve"]:
        import asyncio

        asyncio.run(serve(Answers(_tokens, 1, 3, 20.0)))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--check", action="store_true", help=f"fail above {LIMIT} times the minimal app")
    parser.add_argument(
        "--imports", action="store_true", help="list the ten packages that cost most to import"
    )
    options = parser.parse_args()
    if options.imports:
        show_imports()
    table, ratio = compare(options.rounds)
    print(table.markdown())
    if options.check and ratio > LIMIT:
        print(f"too slow: {ratio:.2f} is more than {LIMIT}")
        return 1
    return 0


def _environment() -> dict[str, str]:
    """Ours, but a start that nobody's second one is would compile all of the program again."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _tokens(_number: int) -> Iterator[str]:
    yield TOKEN_SAYS
    while True:
        yield " and more"


def compare(rounds: int) -> tuple[Table, float]:
    """Run all in turns; return the table, and the demo's first frame in times of the minimal app's."""
    names = ("`import textual.app` alone", "minimal Textual app", "agent-tui --demo")
    served_names = ("agent-tui, a server and a prompt", "the same: first token")
    took: dict[str, list[float]] = {name: [] for name in (*names, *served_names)}
    with (
        tempfile.TemporaryDirectory(prefix="agent-tui-bench-") as folder,
        served([__file__, "--serve"]) as url,
    ):
        script = Path(folder, "minimal.py")
        script.write_text(MINIMAL)
        ours = [sys.executable, "-m", "agent_tui", "--data-dir", str(Path(folder, "data"))]
        commands: tuple[tuple[list[str], tuple[str, ...], tuple[str, ...]], ...] = (
            ([sys.executable, "-c", IMPORT], (MARK,), names[:1]),
            ([sys.executable, str(script)], (MARK,), names[1:2]),
            ([*ours, "--demo"], (FRAME_SAYS,), names[2:]),
            ([*ours, "hi", "--base-url", url, "-m", "bench"], (FRAME_SAYS, TOKEN_SAYS), served_names),
        )
        for number in range(rounds + 1):
            for command, says, into in commands:
                shown = shown_after(command, says, folder)
                for name, seconds in zip(into, shown, strict=True):
                    took[name] += [seconds] * bool(number)  # the first round fills caches
    middle = {name: statistics.median(times) for name, times in took.items()}
    table = Table(
        "Start: ms from the start of the process, 120x36",
        ["what", "median", "fastest", "slowest", "× minimal"],
    )
    for name, times in took.items():
        figures = (middle[name], min(times), max(times))
        times_minimal = f"{middle[name] / middle[names[1]]:.2f}"
        table.rows.append([name, *(f"{1000 * figure:.0f}" for figure in figures), times_minimal])
    table.notes.append(
        f"Medians of {rounds} rounds in turns. With a server: first its frame, then its first token."
    )
    return table, middle[names[2]] / middle[names[1]]


def shown_after(command: list[str], says: tuple[str, ...], folder: str) -> list[float]:
    """Seconds from the start of `command` in a terminal until it shows each; raises `TimeoutError`."""
    environment = {
        **_environment(),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TMPDIR": folder,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")]),
        "AGENT_TUI_CONFIG_DIR": str(Path(folder, "config")),
    }
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        os.chdir(folder)
        os.execve(command[0], command, environment)
    try:
        return [at - began for at in _seen(terminal, says)]
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def _seen(terminal: int, says: tuple[str, ...]) -> list[float]:
    """When each was first on the terminal; they come in this order or at the same time."""
    read, found = b"", list[float]()
    deadline = time.perf_counter() + PATIENCE
    while time.perf_counter() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        if not ready:
            continue
        try:
            read += os.read(terminal, 65536)
        except OSError:
            break
        text = _SEQUENCE.sub(b"", read)
        while len(found) < len(says) and says[len(found)].encode() in text:
            found.append(time.perf_counter())
        if len(found) == len(says):
            return found
    shown = _SEQUENCE.sub(b"", read)[-600:].decode(errors="replace")
    raise TimeoutError(f"{says[len(found)]!r} was not shown; the last that was: {shown}")


def show_imports() -> None:
    """Print the packages whose own modules take longest to import."""
    environment = {**_environment(), "PYTHONPATH": os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", EVERYTHING],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    cost: Counter[str] = Counter()
    for line in done.stderr.splitlines():
        found = re.match(r"import time:\s+(\d+) \|\s+\d+ \| +(\S+)", line)
        if found:
            cost[found[2].split(".")[0]] += int(found[1])
    print(f"imports: {sum(cost.values()) / 1000:.0f} ms with the cost of measuring, of which")
    for package, microseconds in cost.most_common(10):
        print(f"  {package:<20} {microseconds / 1000:6.1f} ms")


if __name__ == "__main__":
    sys.exit(main())
