"""Measures the history: what a turn costs to keep, and finding and opening at 100,000 messages.

Refuses a shortcut where it measures: turns go through `History.record`, one record for each step as a worker
makes them, with an fsync each. Only the messages before them are written in bulk, by the same statements.

    python bench/history.py [--messages 100000]        # QUICK=1: 2,000
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path

from tables import QUICK, Table

from agent_tui_core.blocks import Text, ToolResult, ToolUse
from agent_tui_core.events import (
    Body,
    MessageCommitted,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolJudged,
    ToolProposed,
    ToolStarted,
)
from agent_tui_core.history import writer
from agent_tui_core.history.migrations import connect
from agent_tui_core.history.rows import change_of
from agent_tui_core.history.store import History
from agent_tui_core.messages import Message, Usage, new_id

MESSAGES = 2_000 if QUICK else 100_000
OF_A_SESSION = 1_000
"""Messages of one session, which four agents share."""
AGENTS = 4
WRITTEN = 5_000
TABLES = ("sessions", "conversations", "runs", "messages", "tool_calls", "entries")
KEYS = {"id", "session_id", "conversation_id", "run_id", "message_id", "key", "ref"}
TURNS = 16 if QUICK else 64
"""Of all agents together, in each round."""
AT_ONCE = (1, 8) if QUICK else (1, 8, 32)
ROUNDS = 2 if QUICK else 5
TEXT = """the parser reads a chunk and keeps what is left of it until more comes so that no event is cut
while tests run in a folder of their own with real sockets and processes where nothing waits for a clock"""
WORDS = TEXT.split()
RARE, COMMON = "quokka", "parser"
"""Said once in a thousand messages, and in most of them."""

Timed = Callable[[], Awaitable[object]]


class Speech:
    """Turns as agents have them: a prompt of 20 words, in every second a call of a tool, an answer of 150."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._turns = seed

    def words(self, count: int) -> str:
        """So many words."""
        return " ".join(self._dice.choices(WORDS, k=count))

    def turn(self) -> Iterator[list[Body]]:
        """The records of one turn, in their order; what one holds is kept together."""
        self._turns += 1
        usage = Usage(1200, 230)
        prompt = Message("user", (Text(self.words(20)),))
        said: list[Body] = [MessageCommitted(prompt)]
        yield [RunStarted(prompt)]
        if self._turns % 2:
            key, call = new_id(), ToolUse(new_id(), "Read", {"file_path": f"src/{self.words(1)}.py"})
            asks = Message("assistant", (call,), stop_reason="tool_use", usage=usage)
            yield [*said, MessageCommitted(asks), ToolProposed(key, call, asks.id)]
            yield [ToolJudged(key, True, "rule", "", "Read", call.input, 0.0)]
            yield [ToolStarted(key, call.input)]
            result = ToolResult(call.id, self.words(200))
            message = Message("tool", (result,))
            yield [ToolEnded(key, result, "ok", 0.01), MessageCommitted(message)]
            said = []
        rare = f" {RARE}" if self._turns % 333 == 0 else ""
        answer = Message("assistant", (Text(self.words(150) + rare),), stop_reason="end", usage=usage)
        yield [*said, MessageCommitted(answer)]
        yield [RunEnded("completed", "", 2, usage)]


async def turns(history: History, conversations: list[str]) -> tuple[float, float]:
    """Milliseconds of processor, and of waiting for the disk, for one turn of agents that work at once."""

    async def live(conversation: str) -> float:
        speech, waited = Speech(0), 0.0
        for _ in range(TURNS // len(conversations)):
            run = new_id()
            for record in speech.turn():
                began = time.perf_counter()
                await history.record(conversation, run, *record)
                waited += time.perf_counter() - began
        return waited

    spent = time.process_time()
    waited = sum(await asyncio.gather(*map(live, conversations)))
    return 1000 * (time.process_time() - spent) / TURNS, 1000 * waited / TURNS


async def agents(history: History, count: int) -> list[str]:
    """The conversations of so many agents, in a session of their own."""
    session = await history.start_session("/home/ada/project")
    return [
        await history.add_conversation(session, agent_id=new_id(), name="ada", position=place, profile={})
        for place in range(1, count + 1)
    ]


async def fill(history: History, messages: int) -> tuple[int, float]:
    """Write sessions until there are about so many messages; return how many, and the bytes said in one.

    All that comes after the first 5,000 is copied from them, with ids and times of its own.
    """
    written, said = 0, 0
    with closing(connect(history.path, patience=10.0)) as connection:
        while written < min(messages, WRITTEN):
            conversations = await agents(history, AGENTS)
            connection.execute("BEGIN")
            here = 0
            while here < min(OF_A_SESSION, messages - written):
                for seed, conversation in enumerate(conversations, written + here):
                    bodies = [body for record in Speech(seed).turn() for body in record]
                    blocks = [body.message.blocks for body in bodies if isinstance(body, MessageCommitted)]
                    said += sum(len(str(block)) for each in blocks for block in each)
                    here += len(blocks)
                    _write(connection, conversation, bodies)
            connection.execute("COMMIT")
            written += here
        copies = round(messages / written)
        _copy(connection, copies)
    return written * copies, said / written


def _copy(connection: sqlite3.Connection, copies: int) -> None:
    """Have all sessions so many times."""
    for table in TABLES:
        connection.execute(f"CREATE TEMP TABLE old_{table} AS SELECT * FROM {table}")
    for copy in range(1, copies):
        connection.execute("BEGIN")
        for table in TABLES:
            columns = [row["name"] for row in connection.execute(f"PRAGMA table_info ({table})")]
            taken = [
                f"'x{copy:03}' || substr({name}, 5)" if name in KEYS
                else f"{name} + {copy}" if name == "at" or name.endswith("_at")
                else "NULL" if name == "number"
                else name
                for name in columns
            ]  # fmt: skip
            connection.execute(f"INSERT INTO {table} SELECT {', '.join(taken)} FROM old_{table}")
        connection.execute("COMMIT")


def _write(connection: sqlite3.Connection, conversation: str, bodies: list[Body]) -> None:
    run = new_id()
    write = writer.Write([change_of(run, body) for body in bodies], time.time(), conversation, run)
    of_it = "SELECT coalesce(max(seq), 0) + 1 FROM entries WHERE conversation_id = ?"
    (write.first_seq,) = connection.execute(of_it, (conversation,)).fetchone()
    for change, values in write.parameters():
        connection.execute(change.sql, values)
        connection.execute(writer._ADD_ENTRY, values)


async def milliseconds(works: dict[str, Timed], rounds: int) -> dict[str, list[float]]:
    """What each takes, in turns, sorted."""
    took: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            began = time.perf_counter()
            await work()
            took[name].append(1000 * (time.perf_counter() - began))
    return {name: sorted(each) for name, each in took.items()}


async def appending(empty: History, full: History, messages: int) -> Table:
    """What a turn costs, in a new history and in a long one."""
    table = Table(
        "History: ms for a turn of 2 to 4 messages, 3 to 6 records on disk",
        [
            "agents at once",
            "processor, new history",
            f"at {messages:,} messages",
            "waiting, new",
            "waiting, long",
        ],
    )
    for count in AT_ONCE:
        places = [(history, await agents(history, count)) for history in (empty, full)]
        got = [[await turns(*place) for place in places] for _ in range(ROUNDS)]
        spent = [statistics.median(each[place][0] for each in got) for place in (0, 1)]
        waited = [statistics.median(each[place][1] for each in got) for place in (0, 1)]
        table.rows.append([str(count), *(f"{figure:.2f}" for figure in (*spent, *waited))])
    table.notes.append(
        "A record returns when it is on disk; those that wait at the same time share one fsync."
    )
    return table


async def reading(history: History, messages: int, first_search: float) -> Table:
    """Lists, sessions and words, each over a connection of its own as the program does it."""
    [newest, *_, oldest] = await history.sessions(messages)
    works: dict[str, Timed] = {
        "the list of the 50 newest sessions": history.sessions,
        "open the newest session": history.load,
        f"open one by its id: {oldest.messages:,} messages": lambda: history.load(oldest.id[:12]),
        "search a word of one message in a thousand": lambda: history.search(RARE),
        "search a word of most messages": lambda: history.search(COMMON),
        "search two beginnings of words": lambda: history.search(f"{COMMON[:4]} {RARE[:4]}"),
    }
    table = Table(f"History: reading at {messages:,} messages", ["what", "median ms", "longest ms"])
    for name, took in (await milliseconds(works, ROUNDS)).items():
        table.rows.append([name, f"{statistics.median(took):.1f}", f"{took[-1]:.1f}"])
    table.rows.append(["the first search of all, which makes the index", f"{first_search:,.0f}", "one round"])
    if not await history.search(RARE):
        raise SystemExit(f"nobody said {RARE}")
    table.notes.append(f"The newest session has {newest.messages:,} messages.")
    return table


def on_disk(history: History) -> int:
    """Bytes of the database and of what SQLite keeps beside it."""
    return sum(each.stat().st_size for each in history.path.parent.glob(f"{history.path.name}*"))


async def measure(messages: int) -> list[Table]:
    """Fill, look at the size, search and open, then append."""
    with tempfile.TemporaryDirectory(prefix="agent-tui-bench-") as folder:
        empty = await History.open(Path(folder, "new", "history.db"))
        full = await History.open(Path(folder, "long", "history.db"))
        try:
            messages, said = await fill(full, messages)
            size = on_disk(full)
            began = time.perf_counter()
            await full.search(RARE)
            first_search = 1000 * (time.perf_counter() - began)
            indexed = on_disk(full)
            tables = [await reading(full, messages, first_search), await appending(empty, full, messages)]
        finally:
            await empty.close()
            await full.close()
    tables[0].notes.append(
        f"On disk: {size / messages:,.0f} bytes a message, {(indexed - size) / messages:,.0f} more with the "
        f"index, for {said:,.0f} bytes of words and inputs."
    )
    return tables


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    options = parser.parse_args()
    print("\n\n".join(table.markdown() for table in asyncio.run(measure(options.messages))))


if __name__ == "__main__":
    main()
