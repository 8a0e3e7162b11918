"""Measures two other ways to show streams: `MarkdownStream` in each pane, and bytes without framework.

Refuses to be unfair: the text, the rate and the clock are those of `draw.py`, which draws with our panes.

    python bench/plain.py [--panes 1,4,8] [--rate 50] [--seconds 5]
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from draw import HZ, ROOT, WARM_SECONDS, measure, stream_of
from tables import QUICK, Table
from textual.app import App, ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream

COLUMNS, ROWS = 200, 60


class Usual(App[None]):
    """What Textual's manual says: a Markdown widget in a scroll, fed through a `MarkdownStream`."""

    CSS = "Grid { grid-gutter: 0 1; } VerticalScroll { height: 1fr; }"

    def __init__(self, panes: int, rate: float, seconds: float) -> None:
        super().__init__()
        self.panes, self.rate, self.seconds = panes, rate, seconds
        self.figures: dict[str, float] = {}
        self.streams: list[MarkdownStream] = []

    def compose(self) -> ComposeResult:
        """A grid of scrolls."""
        with Grid() as grid:
            grid.styles.grid_size_columns = max(1, round(self.panes**0.5 + 0.49))
            for _ in range(self.panes):
                with VerticalScroll() as scroll:
                    scroll.anchor()
                    yield Markdown()

    def on_mount(self) -> None:
        """Begin to stream."""
        self.streams = [Markdown.get_stream(widget) for widget in self.query(Markdown)]
        self.tokens = [stream_of(seed) for seed in range(self.panes)]
        self.set_interval(1 / HZ, self.frame)
        self.set_timer(WARM_SECONDS, self.begin)

    async def frame(self) -> None:
        """The tokens of one frame, for every pane."""
        count = max(1, round(self.rate / HZ))
        for stream, tokens in zip(self.streams, self.tokens, strict=True):
            await stream.write("".join(next(tokens) for _ in range(count)))

    def begin(self) -> None:
        """Count from here."""
        self.figures = {"wall": time.monotonic(), "cpu": time.process_time()}
        self.set_timer(self.seconds, self.end)

    def end(self) -> None:
        """Stop counting."""
        wall, cpu = time.monotonic() - self.figures["wall"], time.process_time() - self.figures["cpu"]
        self.figures = {"cpu_percent": 100 * cpu / wall}
        self.exit()


def floor(panes: int, rate: float, seconds: float) -> dict[str, float]:
    """Rows of plain text with a colour, written where they belong: no Markdown, no widgets."""
    columns = max(1, round(panes**0.5 + 0.49))
    rows = max(1, -(-panes // columns))
    width, height = COLUMNS // columns, ROWS // rows
    tokens = [stream_of(seed) for seed in range(panes)]
    lines: list[list[str]] = [[""] for _ in range(panes)]
    began, cpu = time.monotonic(), time.process_time()
    while (now := time.monotonic()) - began < seconds:
        out: list[str] = []
        for pane, text in enumerate(tokens):
            for _ in range(max(1, round(rate / HZ))):
                first, *others = next(text).split("\n")
                lines[pane][-1] = (lines[pane][-1] + first)[: width - 1]
                lines[pane] += others
            del lines[pane][:-height]
            x, y = pane % columns * width + 1, pane // columns * height + 1
            out += [
                f"\x1b[{y + n};{x}H\x1b[38;2;200;200;200m{line:<{width - 1}}"
                for n, line in enumerate(lines[pane])
            ]
        os.write(1, "".join(out).encode())
        time.sleep(max(0.0, now + 1 / HZ - time.monotonic()))
    wall = time.monotonic() - began
    return {"cpu_percent": 100 * (time.process_time() - cpu) / wall}


def run(kind: str, panes: int, rate: float, seconds: float) -> float:
    """Per cent of a core of one kind, in a process and a terminal of its own."""
    if kind == "ours":
        return measure(panes, rate, seconds)["cpu_percent"]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "figures.json")
        command = [sys.executable, __file__, "--child", str(result), "--kind", kind, "--panes", str(panes)]
        command += ["--rate", str(rate), "--seconds", str(seconds)]
        paths = os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": paths}
        process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
        os.close(slave)
        while process.poll() is None:
            if select.select([master], [], [], 0.2)[0]:
                try:
                    os.read(master, 1 << 16)
                except OSError:
                    break
        os.close(master)
        if process.wait() or not result.exists():
            raise SystemExit(f"{kind} with {panes} panes failed")
        figures: dict[str, float] = json.loads(result.read_text())
    return figures["cpu_percent"]


def main() -> None:
    """Compare for each count of panes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panes", default="1,4,8,16,32")
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=3.0 if QUICK else 5.0)
    parser.add_argument("--kind", default="", help=argparse.SUPPRESS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        panes = int(options.panes)
        if options.kind == "MarkdownStream":
            app = Usual(panes, options.rate, options.seconds)
            app.run()
            figures = app.figures
        else:
            figures = floor(panes, options.rate, options.seconds)
        options.child.write_text(json.dumps(figures))
        return
    table = Table(
        f"Drawing alone, {options.rate:g} tokens/s a pane, {COLUMNS}x{ROWS}: per cent of a core",
        ["panes", "our panes", "MarkdownStream in each", "bytes, no framework"],
    )
    for count in options.panes.split(","):
        kinds = ("ours", "MarkdownStream", "bytes")
        got = [run(kind, int(count), options.rate, options.seconds) for kind in kinds]
        table.rows.append([count, *(f"{percent:.0f}" for percent in got)])
    print(table.markdown())


if __name__ == "__main__":
    main()
