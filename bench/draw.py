"""Measures what drawing many streaming transcripts costs: processor time, frames and layouts.

Refuses a headless shortcut: each count of panes runs in its own process in a real pseudo-terminal of 200x60,
fed with mixed Markdown on the frame clock, as the dashboard does it.

    python bench/draw.py [--panes 1,4,16,32] [--rate 50] [--seconds 6] [--check]
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import Grid
from textual.geometry import Size
from textual.screen import Screen

from agent_tui.panes import code, rendering
from agent_tui.panes.transcript import TranscriptView
from agent_tui_core.events import Event, TextDelta
from agent_tui_core.runtime.transcript import Transcript

ROOT = Path(__file__).resolve().parent.parent
ROWS, COLUMNS = 60, 200
HZ = 20
WARM_SECONDS = 1.5

PROSE = """## Step {n}
The **parser** reads `bytes` and gives events; see [the standard](https://html.spec.whatwg.org/) for details
on what ends a line. It is *important* that a chunk may end inside a character.

- first finding with `code` in it
- second finding, which is long enough to wrap in a narrow pane
  1. nested and ordered

| file | lines |
|------|------:|
| `sse.py` | {n} |

> A quoted remark about the whole.

"""
CODE = """```python
def feed_{n}(self, chunk: bytes) -> list[Event]:
    # every event leaves with the chunk that completes it
    self._buffer += chunk
    return [self._event(line) for line in self._lines("{n}")]
```

"""


class Bench(App[None]):
    """Some transcripts in a grid, fed at a rate."""

    CSS = "Grid { grid-gutter: 0 1; }"

    def __init__(self, panes: int, rate: float, seconds: float) -> None:
        super().__init__()
        self.transcripts = [Transcript() for _ in range(panes)]
        self.views = [TranscriptView(transcript) for transcript in self.transcripts]
        self.columns = max(1, round(panes**0.5 + 0.49))
        self.tokens = [stream_of(seed) for seed in range(panes)]
        self.owed = 0.0
        self.rate, self.seconds = rate, seconds
        self.ticks: list[float] = []
        self.layouts = 0
        self.frames = 0
        self.figures: dict[str, float] = {}

    def compose(self) -> ComposeResult:
        """A grid of bare transcripts."""
        with Grid() as grid:
            grid.styles.grid_size_columns = self.columns
            yield from self.views

    def on_mount(self) -> None:
        """Start the frame clock."""
        rendering.warm_up()
        code.warm_up()
        self.set_interval(1 / HZ, self.frame)
        self.set_timer(WARM_SECONDS, self.begin)

    def begin(self) -> None:
        """Count from here, when everything is imported and laid out."""
        _count_layouts(self)
        self.ticks.clear()
        self.frames = 0
        self.figures = {"wall": time.monotonic(), "cpu": time.process_time()}
        self.set_timer(self.seconds, self.end)

    def end(self) -> None:
        """Stop counting."""
        wall = time.monotonic() - self.figures["wall"]
        cpu = time.process_time() - self.figures["cpu"]
        ticks = sorted(self.ticks)
        self.figures = {
            "panes": len(self.views),
            "cpu_percent": 100 * cpu / wall,
            "cpu_ms_per_frame": 1000 * cpu / max(1, self.frames),
            "tick_ms": 1000 * sum(ticks) / len(ticks),
            "tick_p99_ms": 1000 * ticks[int(len(ticks) * 0.99)],
            "frames_per_s": self.frames / wall,
            "layouts": self.layouts,
        }
        self.exit()

    def frame(self) -> None:
        """One frame: what arrived since the last one, then a tick for each view."""
        start = time.process_time()
        self.owed += self.rate / HZ
        count, self.owed = int(self.owed), self.owed % 1
        for transcript, tokens in zip(self.transcripts, self.tokens, strict=True):
            pieces = [next(tokens) for _ in range(count)]
            transcript.apply([Event("a", "r", 1, 0.0, TextDelta("".join(pieces)))])
        for view in self.views:
            view.tick()
        self.ticks.append(time.process_time() - start)
        self.frames += 1


def stream_of(seed: int) -> Iterator[str]:
    dice, number = random.Random(seed), 0
    while True:
        number += 1
        text = CODE if dice.random() < 0.3 else PROSE
        text = text.replace("{n}", str(number))
        while text:
            size = dice.randint(2, 6)
            yield text[:size]
            text = text[size:]


def _count_layouts(app: Bench) -> None:
    original = Screen._refresh_layout

    def counting(screen: Screen[object], size: Size | None = None, scroll: bool = False) -> None:
        app.layouts += 1
        original(screen, size, scroll)

    setattr(Screen, "_refresh_layout", counting)  # noqa: B010 - counting is what this file is for


def measure(panes: int, rate: float, seconds: float) -> dict[str, float]:
    """Run one count of panes in a process and a terminal of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "figures.json"
        command = [sys.executable, __file__, "--child", str(result), "--panes", str(panes)]
        command += ["--rate", str(rate), "--seconds", str(seconds)]
        paths = os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": paths}
        process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
        os.close(slave)
        read = _drain(master, process)
        if process.wait() != 0 or not result.exists():
            raise SystemExit(f"the run with {panes} panes failed with status {process.returncode}")
        figures: dict[str, float] = json.loads(result.read_text())
    return figures | {"terminal_kb_per_s": read / 1000 / (seconds + WARM_SECONDS)}


def _drain(master: int, process: subprocess.Popen[bytes]) -> int:
    read = 0
    while process.poll() is None:
        if select.select([master], [], [], 0.2)[0]:
            try:
                read += len(os.read(master, 65536))
            except OSError:
                break
    os.close(master)
    return read


def main() -> None:
    """Print a table; with `--check`, fail when a frame of streaming caused a layout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panes", default="1,4,16,32")
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    counts = [int(count) for count in options.panes.split(",")]
    if options.child:
        app = Bench(counts[0], options.rate, options.seconds)
        app.run()
        options.child.write_text(json.dumps(app.figures))
        return
    print(f"{COLUMNS}x{ROWS}, {options.rate:g} tokens/s a pane, clock of {HZ} Hz")
    print("panes   CPU %   CPU ms/frame   tick ms   tick p99 ms   frames/s   layouts   terminal kB/s")
    layouts = 0.0
    for count in counts:
        got = measure(count, options.rate, options.seconds)
        layouts += got["layouts"]
        print(
            f"{count:5}   {got['cpu_percent']:5.1f}   {got['cpu_ms_per_frame']:12.2f}   "
            f"{got['tick_ms']:7.2f}   {got['tick_p99_ms']:11.2f}   {got['frames_per_s']:8.1f}   "
            f"{got['layouts']:7.0f}   {got['terminal_kb_per_s']:13.0f}"
        )
    if options.check and layouts:
        raise SystemExit(f"{layouts:.0f} layouts while streaming; there should be none")


if __name__ == "__main__":
    main()
