"""Measures two other ways to show streams: `MarkdownStream` in each pane, and bytes without framework.

Refuses to be unfair: text, rate and clock are those of `draw.py`, which draws with our panes alone, and a
person types into each. Beside them stands the whole program, which gets the same over HTTP and keeps history.

    python bench/plain.py [--panes 1,4,8] [--rate 50] [--seconds 5]
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import tempfile
import time
import tty
from collections.abc import Callable
from pathlib import Path

import draw
import panes as dashboard
from draw import HZ, ROOT, WARM_SECONDS, stream_of
from tables import QUICK, Table
from textual.app import App, ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.widgets import Input, Markdown
from textual.widgets.markdown import MarkdownStream
from typist import watch

COLUMNS, ROWS = 200, 60
SIZE = f"{COLUMNS}x{ROWS}"


def say(words: bytes) -> None:
    """Tell the person at the terminal to begin, or to end."""
    os.write(int(os.environ["BENCH_SAY"]), words)


class Usual(App[None]):
    """What Textual's manual says: a Markdown widget in a scroll, fed through a `MarkdownStream`."""

    CSS = "Grid { grid-gutter: 0 1; height: 1fr; } Input { dock: bottom; height: 3; }"

    def __init__(self, panes: int, rate: float, seconds: float) -> None:
        super().__init__()
        self.panes, self.rate, self.seconds = panes, rate, seconds
        self.figures: dict[str, float] = {}
        self.streams: list[MarkdownStream] = []

    def compose(self) -> ComposeResult:
        """A grid of scrolls, and a line to write in."""
        yield Input()
        with Grid() as grid:
            grid.styles.grid_size_columns = max(1, round(self.panes**0.5 + 0.49))
            for _ in range(self.panes):
                with VerticalScroll() as scroll:
                    scroll.anchor()
                    yield Markdown()

    def on_mount(self) -> None:
        """Begin to stream."""
        self.query_one(Input).focus()
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
        """Stop counting, and let the person type for as long."""
        self.figures = {"cpu_percent": share(self.figures)}
        say(b"begin\n")
        self.set_timer(self.seconds, self.leave)

    def leave(self) -> None:
        """Nothing more is measured."""
        say(b"end\n")
        self.exit()


def share(began: dict[str, float]) -> float:
    """Per cent of a core since then."""
    return 100 * (time.process_time() - began["cpu"]) / (time.monotonic() - began["wall"])


def floor(panes: int, rate: float, seconds: float) -> dict[str, float]:
    """Rows of plain text with a colour, written where they belong: no Markdown, no widgets."""
    columns = max(1, round(panes**0.5 + 0.49))
    rows = max(1, -(-panes // columns))
    width, height = COLUMNS // columns, (ROWS - 1) // rows
    tokens = [stream_of(seed) for seed in range(panes)]
    lines: list[list[str]] = [[""] for _ in range(panes)]

    def frame() -> None:
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

    tty.setcbreak(0)
    _draw_frames(frame, WARM_SECONDS)
    began = {"wall": time.monotonic(), "cpu": time.process_time()}
    _draw_frames(frame, seconds)
    figures = {"cpu_percent": share(began)}
    say(b"begin\n")
    _draw_frames(frame, seconds)
    say(b"end\n")
    return figures


def _draw_frames(frame: Callable[[], None], seconds: float) -> None:
    end, due = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < end:
        frame()
        due += 1 / HZ
        while (left := due - time.monotonic()) > 0:
            if select.select([0], [], [], left)[0]:
                os.write(1, f"\x1b[{ROWS};1H".encode() + os.read(0, 64))


def alone(kind: str, panes: int, rate: float, seconds: float) -> tuple[float, str]:
    """Per cent of a core and the key's p99 of one kind, in a process and a terminal of its own."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "figures.json")
        command = [sys.executable, __file__, "--child", str(result), "--kind", kind, "--panes", str(panes)]
        command += ["--rate", str(rate), "--seconds", str(seconds)]
        paths = os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": paths}
        keys, _ = watch(command, environment, folder, SIZE)
        if not result.exists():
            raise SystemExit(f"{kind} with {panes} panes failed")
        percent: float = json.loads(result.read_text())["cpu_percent"]
    return percent, p99(keys)


def whole(panes: int, rate: float, seconds: float) -> tuple[float, str]:
    """The same of the whole program, over HTTP and with history."""
    one = {"agents": panes, "rate": rate, "seconds": seconds, "history": 0, "size": SIZE, "profile": None}
    figures = dashboard.measure(ROOT, argparse.Namespace(**one))
    return figures["cpu_percent"], f"{figures['key_p99_ms']:.0f}"


def p99(keys: list[float]) -> str:
    """Milliseconds, of latencies in seconds; a key that was not shown in five seconds is not among them."""
    return f"{1000 * sorted(keys)[int(len(keys) * 0.99)]:.0f}" if keys else "none in 5,000"


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
    whole_too = [] if QUICK else ["the whole program"]
    table = Table(
        f"Ways to draw, {options.rate:g} tokens/s a pane, {SIZE}: per cent of a core (key p99 in ms)",
        ["panes", *whole_too, "our panes alone", "MarkdownStream in each", "bytes, no framework"],
    )
    for count in map(int, options.panes.split(",")):
        common = (count, options.rate, options.seconds)
        figures = draw.measure(*common)
        others = [alone(kind, *common) for kind in ("MarkdownStream", "bytes")]
        got = [*([] if QUICK else [whole(*common)]), (figures["cpu_percent"], ""), *others]
        table.rows.append([str(count), *(f"{percent:.0f}{key and f' ({key})'}" for percent, key in got)])
    if whole_too:
        table.notes.append("The whole program takes HTTP and keeps history; more than 12 are a list here.")
    print(table.markdown())


if __name__ == "__main__":
    main()
