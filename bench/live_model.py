"""Owns the servers of the live soak: a scripted model, and the broken networks of the table of faults.

Refuses to know who asks: an answer follows from the prompt's own words, so a seed gives the same answers. A
process of its own: `python bench/live_model.py SEED` prints both addresses and answers until its input ends,
which it does with whoever started it.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from draw import stream_of

from fault_kinds import GOOD
from fault_rows import FAULTS
from fault_server import FaultServer, chunked
from fault_server import Step as FaultStep
from loopback import (
    DONE,
    Answer,
    LoopbackServer,
    Request,
    Step,
    Stream,
    finish,
    reasoning,
    say,
    text,
    tool_call,
    usage,
)

TURN: Final = re.compile(r"turn (\w+) (\d+)( quick)?", re.IGNORECASE)
"""Who prompts and for the how-manieth time; a quick turn is answered without pauses."""
PACE: Final = 1 / 35
"""Seconds between two tokens."""
IDLE_SECONDS: Final = 2.0
"""How long a connection that nobody uses stays open."""
HEAVY: Final = frozenset(
    {
        "a header of a megabyte",
        "a gzip bomb",
        "a line of 10 MB",
        "a line of 17 MB",
        "a line without end",
        "fifty thousand events",
    }
)
"""Faults of many megabytes: the table of faults bounds them; here each would hide an hour's growth."""
_FORGET_EVERY: Final = 1.0


class Model(LoopbackServer):
    """Answers for as long as it is asked, and remembers none of it."""

    def __init__(self, seed: int) -> None:
        super().__init__(lambda request: answer(request, seed))
        self._closing: dict[asyncio.StreamWriter, asyncio.TimerHandle] = {}

    async def _answer(
        self, request: Request, writer: asyncio.StreamWriter, leaving: asyncio.Task[bytes]
    ) -> bool:
        if (timer := self._closing.pop(writer, None)) is not None:
            timer.cancel()
        goes_on = await super()._answer(request, writer, leaving)
        forgotten = replace(request, body=b"", headers={})
        self.requests[request.number] = forgotten
        self.streams[request.number] = Stream(forgotten)
        if goes_on:
            loop = asyncio.get_running_loop()
            self._closing[writer] = loop.call_later(IDLE_SECONDS, self._hang_up, writer)
        return goes_on

    def _hang_up(self, writer: asyncio.StreamWriter) -> None:
        del self._closing[writer]
        writer.close()


def answer(request: Request, seed: int) -> Answer:
    """A turn is some rounds of calls, then prose; each answer names the turn that it is for."""
    messages = request.json["messages"]
    last_user = max(place for place, each in enumerate(messages) if each["role"] == "user")
    asked = _words(messages[last_user])
    found = TURN.search(asked)
    if found is None or asked.startswith("Condense"):
        return say("They took some turns, looked at files and changed them.")
    name, number, quick = found.groups()
    dice = random.Random(f"{seed} {name} {number}")
    rounds = 1 if quick else dice.choice((0, 0, 1, 1, 2, 3))
    done = sum(each["role"] == "assistant" for each in messages[last_user + 1 :])
    dice.seed(f"{seed} {name} {number} {done}")
    size = len(request.body)
    if done < rounds:
        return Answer(lazily=_calls(dice, name, number, size, 0.0 if quick else PACE))
    return Answer(lazily=_prose(dice, name, number, size, 0.0 if quick else PACE))


def _words(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _prose(dice: random.Random, name: str, number: str, size: int, pace: float) -> Iterator[Step]:
    if dice.random() < 0.2:
        for _ in range(dice.randint(5, 30)):
            yield reasoning("thinking about it ")
            yield pace
    yield text(f"Turn {name} {number}. ")
    yield from _tokens(dice, dice.randint(30, 160), pace)
    yield finish() + usage(size // 4, 100) + DONE


def _calls(dice: random.Random, name: str, number: str, size: int, pace: float) -> Iterator[Step]:
    yield text(f"Turn {name} {number}. ")
    yield from _tokens(dice, dice.randint(0, 30), pace)
    for index in range(dice.choice((1, 1, 2))):
        tool, arguments = _call(dice, name, number)
        yield tool_call(f"call_{number}_{index}_{dice.randint(0, 10**9)}", tool, arguments, index=index)
        yield pace
    yield finish("tool_calls") + usage(size // 4, 100) + DONE


def _tokens(dice: random.Random, count: int, pace: float) -> Iterator[Step]:
    tokens = stream_of(dice.randint(0, 10**9))
    for _ in range(count):
        yield text(next(tokens))
        yield pace


def _call(dice: random.Random, name: str, number: str) -> tuple[str, object]:
    """One call of each kind that the settings of the soak speak of; see `live_settings`."""
    file = f"{name}.md"
    content = "\n".join(f"line {line} of {name}" for line in range(dice.randint(3, 60)))
    return dice.choice(
        (
            ("Read", {"file_path": "notes.md"}),
            ("Read", {"file_path": "absent.md"}),
            ("Glob", {"pattern": "*.md"}),
            ("Grep", {"pattern": f"line {dice.randint(0, 60)} of"}),
            ("Write", {"file_path": file, "content": content}),
            ("Write", {"file_path": file, "content": content}),
            ("Edit", {"file_path": file, "old_string": "line 1 of", "new_string": f"line 1 ({number}) of"}),
            ("Bash", {"command": f"echo {name} {number}"}),
            ("Bash", {"command": f"seq {dice.choice((10, 1000, 20_000))}"}),
            ("Bash", {"command": "sleep 0.5"}),
            ("Bash", {"command": "sleep 600 &"}),
            ("Bash", {"command": "sleep 600", "timeout": 1}),
            ("Bash", {"command": "curl http://127.0.0.1:9/"}),
            ("Bash", {"command": f"touch asked-{name}"}),
            ("Bash", {"command": f"touch asked-{name}"}),
            ("Bash", {"command": "echo cut off && ls | wc -l; false"}),
            ("Nothing", {"of": "the kind"}),
        )
    )


# --- broken networks ----------------------------------------------------------------------------------------


def scenarios(seed: int) -> Iterator[tuple[FaultStep, ...]]:
    """For ever: a fault, a good answer, or an answer with a call."""
    dice = random.Random(seed)
    faults = [fault.scenario for fault in FAULTS if fault.name not in HEAVY and fault.layer != "tls"]
    while True:
        chance = dice.random()
        if chance < 0.4:
            yield dice.choice(faults)
        elif chance < 0.7:
            yield (GOOD,)
        else:
            tool, arguments = _call(dice, "shaky", "1")
            call = tool_call(f"call_{dice.randint(0, 10**9)}", tool, arguments)
            yield (chunked(text("I look. "), call, finish("tool_calls"), usage(10, 5), DONE),)


async def serve(seed: int) -> None:
    """Print the addresses of both servers, then answer until the end of standard input."""
    endless = scenarios(seed)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    async with Model(seed) as good, FaultServer() as broken:
        print(good.base_url, broken.base_url, flush=True)
        while not ended.is_set():
            broken.forget()
            broken.requests.clear()
            for _ in range(200):
                broken.play(*next(endless))
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), _FORGET_EVERY)
    asyncio.get_running_loop().remove_reader(sys.stdin)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
