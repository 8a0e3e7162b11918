"""Measures the dashboard when nothing streams: what 16 idle agents cost, and how fast a key hangs up.

Refuses a headless shortcut: the real program in a terminal of 200x60, a real server, figures of /proc.

    python bench/waiting.py
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tables import QUICK, ROOT, Table

sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]
from loopback import HANG, Answer, LoopbackServer, Request, json_answer, text  # noqa: E402

IDLE_AGENTS = 16
IDLE_SECONDS = 2.0 if QUICK else 10.0
REST_SECONDS = 0.25
SETTLE_SECONDS = 2.5 if QUICK else 10.0
INTERRUPTS = 2 if QUICK else 12
"""With each key."""
KEYS = {"esc": b"\x1b", "f8": b"\x1b[19~"}
"""Stop the chosen agent; stop all, which is a sequence that Textual need not wait for the end of."""


@asynccontextmanager
async def dashboard(*arguments: str) -> AsyncIterator[tuple[subprocess.Popen[bytes], int]]:
    """The real program in a terminal that is read all the time: its process and the terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
    with tempfile.TemporaryDirectory(prefix="agent-tui-bench-") as folder:
        paths = os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": paths}
        environment |= {"AGENT_TUI_CONFIG_DIR": folder, "AGENT_TUI_DATA_DIR": folder}
        process = subprocess.Popen(
            [sys.executable, "-m", "agent_tui", *arguments],
            stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=folder, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        loop = asyncio.get_running_loop()
        loop.add_reader(master, lambda: _drop(master))
        try:
            yield process, master
        finally:
            loop.remove_reader(master)
            process.kill()
            process.wait()
            os.close(master)


def _drop(master: int) -> None:
    try:
        os.read(master, 1 << 16)
    except OSError:
        asyncio.get_running_loop().remove_reader(master)


def _spent(pid: int) -> tuple[float, int]:
    """Processor seconds, and how often the process gave up the processor by itself: its wake-ups."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    switches = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                switches += int(line.split()[1])
    return (int(fields[11]) + int(fields[12])) / ticks, switches


async def idle() -> tuple[float, float]:
    """Per cent of a core and wake-ups a second of idle agents."""
    async with LoopbackServer(lambda _: json_answer({"data": [{"id": "bench"}]})) as server:
        arguments = ["--base-url", server.base_url, "--model", "bench", "-n", str(IDLE_AGENTS)]
        async with dashboard(*arguments) as (process, _):
            await asyncio.sleep(SETTLE_SECONDS)
            before, began = _spent(process.pid), time.monotonic()
            await asyncio.sleep(IDLE_SECONDS)
            after, seconds = _spent(process.pid), time.monotonic() - began
    return 100 * (after[0] - before[0]) / seconds, (after[1] - before[1]) / seconds


async def interrupts() -> dict[str, list[float]]:
    """Seconds from each key, written to the terminal, until the server sees that the client left."""

    def script(request: Request) -> Answer:
        thinks = Answer(text("thinking "), HANG)
        return thinks if _is_chat(request) else json_answer({"data": [{"id": "bench"}]})

    took: dict[str, list[float]] = {name: [] for name in KEYS}
    async with LoopbackServer(script) as server:
        arguments = ["go", "--base-url", server.base_url, "--model", "bench", "-n", "1"]
        async with dashboard(*arguments) as (_, terminal), asyncio.timeout(120):
            for name in [*KEYS] * INTERRUPTS:
                await server.until(lambda: server.open_now == 1)
                await asyncio.sleep(REST_SECONDS)
                stream = next(each for each in reversed(server.streams) if _is_chat(each.request))
                pressed = time.perf_counter()
                os.write(terminal, KEYS[name])
                await stream.disconnected.wait()
                assert stream.disconnected_at is not None
                took[name].append(stream.disconnected_at - pressed)
                await asyncio.sleep(REST_SECONDS)
                os.write(terminal, b"again")
                await asyncio.sleep(REST_SECONDS)
                os.write(terminal, b"\r")
    return {name: sorted(each) for name, each in took.items()}


def _is_chat(request: Request) -> bool:
    """Not a question for the list of models, which may come while the first answer streams."""
    return request.path.endswith("/chat/completions")


def measure() -> list[Table]:
    """Both."""
    percent, wakes = asyncio.run(idle())
    took = asyncio.run(interrupts())
    table = Table("Waiting", ["what", "figure"])
    table.rows = [
        [f"{IDLE_AGENTS} idle agents, per cent of a core", f"{percent:.2f}"],
        [f"{IDLE_AGENTS} idle agents, wake-ups a second", f"{wakes:.1f}"],
    ]
    for name, each in took.items():
        table.rows += [
            [f"`{name}` until the server sees it, median ms", f"{1000 * each[len(each) // 2]:.0f}"],
            [f"`{name}` until the server sees it, longest ms", f"{1000 * each[-1]:.0f}"],
        ]
    table.notes.append(
        "A terminal sends `esc` as a byte that could begin a sequence: Textual waits 100 ms for the rest. "
        f"The keys were pressed in turns, {INTERRUPTS} times each."
    )
    return [table]


if __name__ == "__main__":
    for each in measure():
        print(each.markdown())
