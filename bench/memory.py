"""Measures the memory of what is shown: the resident size of the whole dashboard as one agent's text grows.

Refuses a shortcut: the real program in a terminal of 200x60 with history on, text over HTTP from a server in
another process at full speed; a size counts when all text is on the screen's transcript.

    python bench/memory.py             # one process a round: 100,000 tokens, then on to 1,000,000 characters
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import tracemalloc
from itertools import chain, islice
from pathlib import Path

from draw import COLUMNS, ROOT, ROWS, stream_of
from tables import QUICK, Table
from typist import watch

from agent_tui_core.runtime.entries import ProseEntry

TOKENS = 5_000 if QUICK else 100_000
CHARACTERS = 10 * TOKENS
ROUNDS = 1 if QUICK else 3
SETTLE_SECONDS = 1.5 if QUICK else 4.0
"""What is imported after the first frame is there by then."""
AT_ONCE = 20
"""Tokens in a write of the server."""
PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Print the table; fail when text was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--trace", type=Path, help="write the places that hold most to this file (slow)")
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    elif options.child:
        be_dashboard(options)
    else:
        print(measure(options).markdown())


def answers() -> tuple[list[str], list[str]]:
    """What the agent says first, and then: so many tokens, and what is missing of so many characters."""
    first = list(islice(stream_of(0), TOKENS))
    missing = CHARACTERS - sum(map(len, first))
    rest: list[str] = []
    for token in stream_of(1):
        if missing <= 0:
            break
        rest.append(token)
        missing -= len(token)
    return first, rest


async def serve() -> None:
    """Play the two answers; print the address."""
    sys.path.insert(0, str(ROOT / "tests"))
    from loopback import DONE, Answer, LoopbackServer, Request, finish, json_answer, text

    wanted = iter(answers())

    def script(request: Request) -> Answer:
        if not request.path.endswith("/chat/completions"):
            return json_answer({"data": [{"id": "bench"}]})
        tokens = next(wanted)
        writes = (b"".join(map(text, tokens[at : at + AT_ONCE])) for at in range(0, len(tokens), AT_ONCE))
        return Answer(lazily=chain(writes, [finish(), DONE]))

    async with LoopbackServer(script) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


# --- the dashboard ------------------------------------------------------------------------------------------


def run(trace: Path | None) -> dict[str, float]:
    """One dashboard against one server; the figures of the child."""
    paths = os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory(prefix="agent-tui-bench-") as folder:
        environment |= {"AGENT_TUI_CONFIG_DIR": folder, "AGENT_TUI_DATA_DIR": folder}
        result, itself = Path(folder, "figures.json"), [sys.executable, __file__]
        with subprocess.Popen(
            [*itself, "--serve"], stdout=subprocess.PIPE, env=environment, text=True
        ) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            command = [*itself, "--child", str(result), "--url", url]
            command += ["--trace", str(trace)] if trace else []
            try:
                watch(command, environment, folder, f"{COLUMNS}x{ROWS}")
            finally:
                server.terminate()
        if not result.exists():
            raise SystemExit("the dashboard did not end well")
        figures: dict[str, float] = json.loads(result.read_text())
    if figures["shown"] != figures["sent"]:
        raise SystemExit(f"{figures['shown']:,.0f} of {figures['sent']:,.0f} characters were shown")
    return figures


def be_dashboard(options: argparse.Namespace) -> None:
    """Run the real program, with a person inside that prompts twice and looks at the size."""
    from agent_tui.cli import run
    from agent_tui.feed import Feed

    start, figures = Feed.start, dict[str, float]()

    def start_with_person(feed: Feed) -> None:
        start(feed)
        feed.person = asyncio.ensure_future(_prompt_twice(feed, figures, options.trace))  # type: ignore[attr-defined]

    setattr(Feed, "start", start_with_person)  # noqa: B010 - looking into the program is what this is for
    if code := run(["--base-url", options.url, "--model", "bench", "-n", "1"]):
        raise SystemExit(code)
    options.child.write_text(json.dumps(figures))


async def _prompt_twice(feed: object, figures: dict[str, float], trace: Path | None) -> None:
    from textual._context import active_app

    from agent_tui.feed import Feed

    assert isinstance(feed, Feed)
    app = active_app.get()
    while not feed.agents:
        await asyncio.sleep(0.05)
    await asyncio.sleep(SETTLE_SECONDS)
    [agent] = feed.agents.values()
    if trace:
        tracemalloc.start(1)
    figures["before"] = _megabytes()
    for name in ("tokens", "characters"):
        agent.agent.prompt("Write a report.")
        await asyncio.sleep(0.2)
        while agent.agent.busy or agent.transcript.dirty or not feed.is_idle:
            await asyncio.sleep(0.05)
        figures[name] = _megabytes()
        if trace:
            _write(trace.with_suffix(f".{name}"))
    entries = agent.transcript.entries
    figures["shown"] = sum(len(each.text) for each in entries if isinstance(each, ProseEntry))
    figures["sent"] = sum(len(token) for answer in answers() for token in answer)
    app.exit()


def _megabytes() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def _write(file: Path) -> None:
    snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, tracemalloc.__file__)])
    places = snapshot.statistics("lineno")[:30]
    file.write_text("\n\n".join("\n".join([str(each), *each.traceback.format()]) for each in places))


def measure(options: argparse.Namespace) -> Table:
    """Medians of all rounds."""
    rounds = [run(options.trace) for _ in range(1 if options.trace else ROUNDS)]
    middle = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    table = Table("Memory: one agent's text, all of it shown", ["when", "resident MB", "more than empty"])
    for name, key in (
        ("an empty pane", "before"),
        (f"after {TOKENS:,} tokens", "tokens"),
        (f"after {CHARACTERS:,} characters", "characters"),
    ):
        table.rows.append([name, f"{middle[key]:.1f}", f"{middle[key] - middle['before']:+.1f}"])
    plural = "s" if len(rounds) > 1 else ""
    table.notes.append(
        f"Median of {len(rounds)} round{plural} of about ten seconds, after a collection. The first text "
        "brings what draws it and what speaks HTTP: what more text takes is the difference of the last two."
    )
    return table


if __name__ == "__main__":
    main()
