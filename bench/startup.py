"""Measures the time from the start of the process to the first frame, against a minimal Textual app.

Refuses to guess: both run in a real pseudo-terminal of 120x36, in turns, and a frame counts when its text
can be read there.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE = (36, 120)
LIMIT = 2.5
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
EVERYTHING = "import agent_tui.launch, agent_tui.app, agent_tui_core.runtime.session"
FRAME_SAYS = "^q quit"
"""Stands in the footer of the dashboard, which is painted with all the rest."""
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")


def main() -> int:
    """Measure and print; return 1 when `--check` was said and the limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--check", action="store_true", help=f"fail above {LIMIT} times the minimal app")
    parser.add_argument(
        "--imports", action="store_true", help="list the ten packages that cost most to import"
    )
    options = parser.parse_args()
    if options.imports:
        show_imports()
    ratio = compare(options.rounds)
    if options.check and ratio > LIMIT:
        print(f"too slow: {ratio:.2f} is more than {LIMIT}")
        return 1
    return 0


def compare(rounds: int) -> float:
    """Run both programs in turns; print and return the ratio of the medians."""
    ours: list[float] = []
    minimal: list[float] = []
    with tempfile.TemporaryDirectory(prefix="agent-tui-bench-") as folder:
        script = Path(folder, "minimal.py")
        script.write_text(MINIMAL)
        data = str(Path(folder, "data"))
        for number in range(rounds + 1):
            base = first_frame([sys.executable, str(script)], MARK, folder)
            full = first_frame(
                [sys.executable, "-m", "agent_tui", "--demo", "--data-dir", data], FRAME_SAYS, folder
            )
            if number:  # the first round fills caches
                minimal.append(base)
                ours.append(full)
    ratio = statistics.median(ours) / statistics.median(minimal)
    for name, times in (("minimal Textual app", minimal), ("agent-tui --demo", ours)):
        spread = f"{min(times) * 1000:.0f} to {max(times) * 1000:.0f}"
        print(f"{name:<20} first frame after {statistics.median(times) * 1000:4.0f} ms  ({spread})")
    print(f"ratio {ratio:.2f}  (limit {LIMIT}; median of {rounds} rounds, 120x36)")
    return ratio


def first_frame(command: list[str], says: str, folder: str) -> float:
    """Seconds from the start of `command` in a terminal until it shows `says`; raises `TimeoutError`."""
    environment = {
        **os.environ,
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
        os.execve(command[0], command, environment)
    try:
        return _until(terminal, says.encode()) - began
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def _until(terminal: int, says: bytes) -> float:
    seen = b""
    deadline = time.perf_counter() + PATIENCE
    while time.perf_counter() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        if not ready:
            continue
        try:
            seen += os.read(terminal, 65536)
        except OSError:
            break
        if says in _SEQUENCE.sub(b"", seen):
            return time.perf_counter()
    shown = _SEQUENCE.sub(b"", seen)[-600:].decode(errors="replace")
    raise TimeoutError(f"{says!r} was not shown; the last that was: {shown}")


def show_imports() -> None:
    """Print the packages whose own modules take longest to import."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])}
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
