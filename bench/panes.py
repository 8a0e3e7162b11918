"""Measures the whole dashboard at work: processor time, keys, the event loop, memory, while agents stream.

Refuses a shortcut: the program runs in a real pseudo-terminal of 200x60 with history on, its agents talk HTTP
to a server in another process, and a key counts when what it did can be read from the terminal.

    python bench/panes.py [--agents 4,16,32] [--rate 50] [--seconds 8] [--rounds 1] [--against PATH]
"""

from __future__ import annotations

import argparse
import asyncio
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
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from draw import COLUMNS, ROOT, ROWS, stream_of

WARM_SECONDS = 2.0
REST_SECONDS = 2.0
PATIENCE = 60.0
LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
"""Keys that nothing else on the screen shows."""
LAG_EVERY = 0.02
FIGURES = (
    ("agents", "agents", "6.0f"),
    ("cpu_percent", "CPU %", "6.1f"),
    ("key_p50_ms", "key p50 ms", "10.1f"),
    ("key_p99_ms", "key p99 ms", "10.1f"),
    ("lag_p99_ms", "lag p99 ms", "10.1f"),
    ("paints_per_s", "paints/s", "8.1f"),
    ("rss_mb", "RSS MB", "6.0f"),
    ("terminal_kb_per_s", "kB/s", "6.0f"),
    ("tokens_sent", "sent", "7.0f"),
    ("tokens_shown", "shown", "7.0f"),
)


def main() -> None:
    """Print a table of medians; fail when text was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", default="4,16,32")
    parser.add_argument("--rate", type=float, default=50.0, help="tokens a second of each agent")
    parser.add_argument("--seconds", type=float, default=5.0 if os.environ.get("QUICK") else 10.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--against", type=Path, help="another checkout, measured in turns with this one")
    parser.add_argument("--profile", type=Path, help="write a cProfile of the window to this file")
    parser.add_argument("--serve", type=int, metavar="TOKENS", help=argparse.SUPPRESS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve, options.rate))
    elif options.child:
        be_dashboard(options)
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    """Measure each count of agents, this checkout and the other in turns."""
    trees = [ROOT] if options.against is None else [options.against, ROOT]
    print(f"{COLUMNS}x{ROWS}, {options.rate:g} tokens/s an agent, {options.seconds:g} s, HTTP and history on")
    print("  ".join(title.rjust(int(float(form[:-1]))) for _, title, form in FIGURES))
    lost = False
    for count in [int(count) for count in options.agents.split(",")]:
        got: dict[Path, list[dict[str, float]]] = {tree: [] for tree in trees}
        for _ in range(options.rounds):
            for tree in trees:
                got[tree].append(measure(tree, count, options))
        for tree in trees:
            rounds = got[tree]
            middle = {key: sorted(one[key] for one in rounds)[len(rounds) // 2] for key in rounds[0]}
            lost = lost or any(one["tokens_shown"] != one["tokens_sent"] for one in rounds)
            row = "  ".join(format(middle[key], form) for key, _, form in FIGURES)
            print(row, "" if tree == ROOT else "  (the other)", flush=True)
    if lost:
        raise SystemExit("not all text that was sent was shown")


# --- the three processes ------------------------------------------------------------------------------------


def measure(tree: Path, agents: int, options: argparse.Namespace) -> dict[str, float]:
    """Run one dashboard against one server; return the figures."""
    tokens = int(options.rate * (options.seconds + WARM_SECONDS + REST_SECONDS))
    paths = os.pathsep.join([str(tree / "core"), str(tree / "tui")])
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": paths}
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENT_TUI_MODEL", "NO_COLOR"):
        environment.pop(name, None)
    common = ["--rate", str(options.rate), "--seconds", str(options.seconds), "--agents", str(agents)]
    with tempfile.TemporaryDirectory(prefix="agent-tui-bench-") as folder:
        environment["AGENT_TUI_CONFIG_DIR"] = environment["AGENT_TUI_DATA_DIR"] = folder
        command = [sys.executable, __file__, *common, "--serve", str(tokens)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
            assert server.stdout is not None
            result = Path(folder, "figures.json")
            url = server.stdout.readline().strip()
            command = [sys.executable, __file__, *common, "--child", str(result), "--url", url]
            command += ["--profile", str(options.profile)] if options.profile else []
            try:
                keys, read = _watch(command, environment, folder)
            finally:
                server.terminate()
        if not result.exists():
            raise SystemExit(f"the dashboard with {agents} agents did not end well")
        figures: dict[str, float] = json.loads(result.read_text())
    keys.sort()
    figures["key_p50_ms"] = 1000 * keys[len(keys) // 2]
    figures["key_p99_ms"] = 1000 * keys[int(len(keys) * 0.99)]
    figures["terminal_kb_per_s"] = read / 1000 / options.seconds
    return figures


def _watch(command: list[str], environment: dict[str, str], folder: str) -> tuple[list[float], int]:
    """Be the terminal and its person: type while the window is open; return latencies and bytes read."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    said, say = os.pipe()
    process = subprocess.Popen(
        [*command], stdin=slave, stdout=slave, stderr=slave, env=environment | {"BENCH_SAY": str(say)},
        cwd=folder, pass_fds=(say,),
    )  # fmt: skip
    os.close(slave)
    os.close(say)
    try:
        return Typist(master, said).type_until_the_end()
    finally:
        os.close(master)
        os.close(said)
        if process.poll() is None:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Typist:
    """Presses a letter, waits until the terminal shows it, takes it back, rests."""

    def __init__(self, master: int, said: int) -> None:
        self.master, self.said = master, said
        self.latencies: list[float] = []
        self.read_bytes = 0
        self._tail = b""
        self._counts = False
        self._ended = False

    def type_until_the_end(self) -> tuple[list[float], int]:
        """Type while the dashboard says that the window is open."""
        dice, number, give_up = random.Random(1), 0, time.monotonic() + 3 * PATIENCE
        while not self._ended and time.monotonic() < give_up:
            self._read(0.05 + dice.random() * 0.1)
            if not self._counts:
                continue
            letter = LETTERS[number % len(LETTERS)].encode()
            number += 1
            self._tail = b""
            pressed = time.perf_counter()
            os.write(self.master, letter)
            if self._read(5.0, letter):
                self.latencies.append(time.perf_counter() - pressed)
            os.write(self.master, b"\x7f")
        return self.latencies, self.read_bytes

    def _read(self, seconds: float, letter: bytes = b"") -> bool:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0 and not self._ended:
            ready = select.select([self.master, self.said], [], [], left)[0]
            if self.said in ready:
                word = os.read(self.said, 64)
                self._counts = word.endswith(b"begin\n")
                self._ended = not word
            if self.master in ready:
                try:
                    data = os.read(self.master, 1 << 16)
                except OSError:
                    self._ended = True
                    return False
                self.read_bytes += len(data) if self._counts else 0
                if letter and letter in self._tail + data:
                    return True
                self._tail = data[-4:]
        return False


async def serve(tokens: int, rate: float) -> None:
    """Answer each chat with that many tokens, evenly in time; print the address."""
    sys.path.insert(0, str(ROOT / "tests"))
    from loopback import DONE, Answer, LoopbackServer, Request, Step, finish, json_answer, text

    answered = iter(range(1 << 30))

    def steps() -> Iterator[Step]:
        start = time.monotonic() + random.random() / rate
        for number, token in enumerate(islice(stream_of(next(answered)), tokens)):
            yield max(0.0, start + number / rate - time.monotonic())
            yield text(token)
        yield finish()
        yield DONE

    def script(request: Request) -> Answer:
        chat = request.path.endswith("/chat/completions")
        return Answer(lazily=steps()) if chat else json_answer({"data": [{"id": "bench"}]})

    async with LoopbackServer(script) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


# --- inside the dashboard -----------------------------------------------------------------------------------


def be_dashboard(options: argparse.Namespace) -> None:
    """Run the real program, with a probe on its event loop."""
    from agent_tui.cli import run
    from agent_tui.feed import Feed

    start = Feed.start
    probes: list[Probe] = []

    def start_probed(feed: Feed) -> None:
        start(feed)
        probes.append(Probe(feed, options))

    setattr(Feed, "start", start_probed)  # noqa: B010 - probing the program is what this file is for
    arguments = ["Write a report.", "--base-url", options.url, "--model", "bench", "-n", options.agents]
    code = run(arguments)
    if code:
        raise SystemExit(code)
    options.child.write_text(json.dumps(probes[0].figures))


class Probe:
    """Opens the window when all agents stream, counts, and ends the program when all has been shown."""

    def __init__(self, feed: object, options: argparse.Namespace) -> None:
        from textual._context import active_app
        from textual.app import App

        from agent_tui.feed import Feed

        assert isinstance(feed, Feed)
        self.feed, self.options = feed, options
        self.app = active_app.get()
        self.loop = asyncio.get_running_loop()
        self.figures: dict[str, float] = {}
        self._lags: list[float] = []
        self._cpu = self._paints = 0.0
        self._counting = False
        self._say = int(os.environ["BENCH_SAY"])
        display = App._display

        def counted(app: App[object], screen: object, renderable: object) -> None:
            self._paints += 1
            display(app, screen, renderable)  # type: ignore[arg-type]

        setattr(App, "_display", counted)  # noqa: B010
        self._wait_for_streams()

    def _wait_for_streams(self) -> None:
        agents = self.feed.agents.values()
        if agents and all(agent.transcript.state == "streaming" for agent in agents):
            self.loop.call_later(WARM_SECONDS, self._begin)
        else:
            self.loop.call_later(0.1, self._wait_for_streams)

    def _begin(self) -> None:
        os.write(self._say, b"begin\n")
        if self.options.profile:
            import cProfile

            self._profile = cProfile.Profile()
            self._profile.enable()
        self._counting, self._paints = True, 0
        self._cpu, self._wall = time.process_time(), time.monotonic()
        self.loop.call_later(self.options.seconds, self._end)
        self._due = self.loop.time() + LAG_EVERY
        self.loop.call_at(self._due, self._note_lag)

    def _note_lag(self) -> None:
        now = self.loop.time()
        self._lags.append(now - self._due)
        self._due = now + LAG_EVERY
        if self._counting:
            self.loop.call_at(self._due, self._note_lag)

    def _end(self) -> None:
        wall, cpu = time.monotonic() - self._wall, time.process_time() - self._cpu
        if self.options.profile:
            self._profile.disable()
            self._profile.dump_stats(self.options.profile)
        self._counting = False
        os.write(self._say, b"end\n")
        lags = sorted(self._lags)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.figures = {
            "agents": len(self.feed.agents),
            "cpu_percent": 100 * cpu / wall,
            "paints_per_s": self._paints / wall,
            "lag_p99_ms": 1000 * lags[int(len(lags) * 0.99)],
            "rss_mb": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        }
        self._wait_for_all()

    def _wait_for_all(self) -> None:
        agents = self.feed.agents.values()
        behind = [self.feed.agents[key].transcript.dirty for key in self.feed._views]
        if any(agent.transcript.state == "streaming" for agent in agents) or any(behind):
            self.loop.call_later(0.1, self._wait_for_all)
            return
        from agent_tui_core.runtime.entries import ProseEntry

        tokens = int(self.options.rate * (self.options.seconds + WARM_SECONDS + REST_SECONDS))
        sent = Counter("".join(islice(stream_of(seed), tokens)) for seed in range(len(agents)))
        shown = Counter(
            "".join(entry.text for entry in agent.transcript.entries if isinstance(entry, ProseEntry))
            for agent in agents
        )
        self.figures["tokens_sent"] = tokens * sent.total()
        self.figures["tokens_shown"] = tokens * (sent & shown).total()
        self.app.exit()


if __name__ == "__main__":
    main()
