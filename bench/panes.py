"""Measures the whole dashboard at work: processor time, keys, the event loop, memory, while agents stream.

Refuses a shortcut: the program runs in a real pseudo-terminal with history on, its agents talk HTTP to a
server in another process, and a key counts when what it did can be read from the terminal. CPU is that
of a window in which nobody types, "typing" that of one with 7 letters a second, typed and taken back. The
lag of the loop is that of the second window: who looks at it wakes the program 50 times a second.

    python bench/panes.py [--agents 4,16,32] [--rate 50] [--seconds 8] [--rounds 1] [--against PATH]
    python bench/panes.py --agents 32 --history 0,20000,200000      # characters a pane holds before
    python bench/panes.py --agents 32 --size 400x120                # 32 panes; at 200x60 they are a list
    python bench/panes.py --agents 16 --saturate                    # doubles the rate until a core is full
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

from draw import COLUMNS, ROOT, ROWS, stream_of
from streaming import Answers, before_it, serve, served
from typist import watch

WARM_SECONDS = 2.0
REST_SECONDS = 2.0
LAG_EVERY = 0.02
FULL = 95.0
"""Per cent of a core above which it is full."""
FASTEST_RATE = 6_400.0
FIGURES = (
    ("agents", "agents", "6.0f"),
    ("rate", "tok/s", "6.0f"),
    ("history", "history", "8.0f"),
    ("cpu_percent", "CPU %", "6.1f"),
    ("typing_percent", "typing %", "8.1f"),
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
    parser.add_argument("--history", default="0", help="characters of each agent before the window opens")
    parser.add_argument("--size", default=f"{COLUMNS}x{ROWS}", help="of the terminal")
    parser.add_argument("--saturate", action="store_true", help="double the rate until a core is full")
    parser.add_argument("--seconds", type=float, default=5.0 if os.environ.get("QUICK") else 10.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--against", type=Path, help="another checkout, measured in turns with this one")
    parser.add_argument("--profile", type=Path, help="write a cProfile of the window to this file")
    parser.add_argument("--serve", type=int, metavar="TOKENS", help=argparse.SUPPRESS)
    parser.add_argument("--characters", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        agents, history = int(options.agents), options.characters
        asyncio.run(serve(Answers(stream_of, agents, options.serve, options.rate, history)))
    elif options.child:
        be_dashboard(options)
    else:
        compare(options)


def compare(options: argparse.Namespace) -> None:
    """Measure each count of agents and each history, this checkout and the other in turns."""
    trees = [ROOT] if options.against is None else [options.against, ROOT]
    print(f"## The dashboard, {options.size}, windows of {options.seconds:g} s, HTTP and history on\n")
    print(f"| {' | '.join(title.rjust(int(float(form[:-1]))) for _, title, form in FIGURES)} |")
    print(f"|{'---:|' * len(FIGURES)}", flush=True)
    complete = True
    for count in [int(count) for count in options.agents.split(",")]:
        for history in [int(history) for history in options.history.split(",")]:
            rate = options.rate
            while True:
                row = {"agents": count, "rate": rate, "history": history}
                full, shown = _row(trees, options, argparse.Namespace(**vars(options) | row))
                complete = complete and shown
                if not options.saturate or full or rate >= FASTEST_RATE:
                    break
                rate *= 2
    if not complete:
        raise SystemExit("not all text that was sent was shown")


def _row(trees: list[Path], options: argparse.Namespace, one: argparse.Namespace) -> tuple[bool, bool]:
    """Print the medians of some rounds; whether a core was full, and whether all text was shown."""
    got: dict[Path, list[dict[str, float]]] = {tree: [] for tree in trees}
    for _ in range(options.rounds):
        for tree in trees:
            got[tree].append(measure(tree, one))
    full, complete = False, True
    for tree in trees:
        rounds = got[tree]
        middle = {key: sorted(one[key] for one in rounds)[len(rounds) // 2] for key in rounds[0]}
        complete = complete and all(one["tokens_shown"] == one["tokens_sent"] for one in rounds)
        full = full or middle["cpu_percent"] > FULL
        row = " | ".join(format(middle[key], form) for key, _, form in FIGURES)
        print(f"| {row} |{'' if tree == ROOT else ' (the other)'}", flush=True)
    return full, complete


# --- the three processes ------------------------------------------------------------------------------------


def measure(tree: Path, options: argparse.Namespace) -> dict[str, float]:
    """Run one dashboard against one server; return the figures."""
    tokens = tokens_of(options)
    paths = os.pathsep.join([str(tree / "core"), str(tree / "tui")])
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": paths}
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENT_TUI_MODEL", "NO_COLOR"):
        environment.pop(name, None)
    common = ["--rate", str(options.rate), "--seconds", str(options.seconds)]
    common += ["--agents", str(options.agents), "--characters", str(options.history)]
    with tempfile.TemporaryDirectory(prefix="agent-tui-bench-") as folder:
        environment["AGENT_TUI_CONFIG_DIR"] = environment["AGENT_TUI_DATA_DIR"] = folder
        with served([__file__, *common, "--serve", str(tokens)]) as url:
            result = Path(folder, "figures.json")
            command = [sys.executable, __file__, *common, "--child", str(result), "--url", url]
            command += ["--profile", str(options.profile)] if options.profile else []
            keys, read = watch(command, environment, folder, options.size)
        if not result.exists():
            raise SystemExit(f"the dashboard with {options.agents} agents did not end well")
        figures: dict[str, float] = json.loads(result.read_text())
    keys.sort()
    figures |= {"agents": options.agents, "rate": options.rate, "history": options.history}
    figures["key_p50_ms"] = 1000 * keys[len(keys) // 2]
    figures["key_p99_ms"] = 1000 * keys[int(len(keys) * 0.99)]
    figures["terminal_kb_per_s"] = read / 1000 / options.seconds
    return figures


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
        self._due = 0.0
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
        agents, least = self.feed.agents.values(), self.options.characters
        if agents and all(
            agent.transcript.state == "streaming" and agent.transcript.characters >= least for agent in agents
        ):
            self.loop.call_later(WARM_SECONDS, self._begin)
        else:
            self.loop.call_later(0.1, self._wait_for_streams)

    def _begin(self) -> None:
        if self.options.profile:
            import cProfile

            self._profile = cProfile.Profile()
            self._profile.enable()
        self._counting, self._paints = True, 0
        self._cpu, self._wall = time.process_time(), time.monotonic()
        self.loop.call_later(self.options.seconds, self._let_type)

    def _note_lag(self) -> None:
        now = self.loop.time()
        self._lags.append(now - self._due)
        self._due = now + LAG_EVERY
        if self._counting:
            self.loop.call_at(self._due, self._note_lag)

    def _let_type(self) -> None:
        self.figures = {"cpu_percent": self._share(), "paints_per_s": self._paints / self.options.seconds}
        self._cpu, self._wall = time.process_time(), time.monotonic()
        self._due = self.loop.time() + LAG_EVERY
        self.loop.call_at(self._due, self._note_lag)
        os.write(self._say, b"begin\n")
        self.loop.call_later(self.options.seconds, self._end)

    def _share(self) -> float:
        return 100 * (time.process_time() - self._cpu) / (time.monotonic() - self._wall)

    def _end(self) -> None:
        if self.options.profile:
            self._profile.disable()
            self._profile.dump_stats(self.options.profile)
        self._counting = False
        os.write(self._say, b"end\n")
        lags = sorted(self._lags)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.figures |= {
            "typing_percent": self._share(),
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

        tokens = tokens_of(self.options)
        sent = Counter(sent_of(seed, self.options.characters, tokens) for seed in range(len(agents)))
        shown = Counter(
            "".join(entry.text for entry in agent.transcript.entries if isinstance(entry, ProseEntry))
            for agent in agents
        )
        self.figures["tokens_sent"] = tokens * sent.total()
        self.figures["tokens_shown"] = tokens * (sent & shown).total()
        self.app.exit()


def tokens_of(options: argparse.Namespace) -> int:
    """How many tokens each agent gets: for both windows, and a while before and after."""
    return int(options.rate * (2 * options.seconds + WARM_SECONDS + REST_SECONDS))


def sent_of(seed: int, history: int, tokens: int) -> str:
    """All that the server says with this number."""
    source = stream_of(seed)
    return "".join([*before_it(source, history), *islice(source, tokens)])


if __name__ == "__main__":
    main()
