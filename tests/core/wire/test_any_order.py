"""Any slicing of any answer gives the same events, any interleaving of its calls the same blocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from agent_tui_core.blocks import ContentBlock, Reasoning, ToolUse
from agent_tui_core.events import StreamEvent
from agent_tui_core.wire.sse import SseParser
from loopback import DONE, chunk, finish
from properties import tried
from protocols import CHAT, SPEECHES, Speech, message, over_protocols
from writers import Call

TOOLS = ("Bash", "Read", "Read_all", "get_weather")
WORDS = st.sampled_from(["", "x", "Zażółć 🐢", "\u2028 \x0b", '"\\\\{}[]', "<think>", "a" * 30])
NESTED: dict[str, Any] = {"list": [1, {"deep": [None, True]}], "żółw 🐢": "\u2028"}
INPUTS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"a": 1},
        {"a": 2},
        {"command": 'ls -l "x"\n'},
        {"n": 2**70, "e": ""},
        {"{": "}", "}": '{"a":'},
        NESTED,
    ]
)
CHANCE = st.randoms(use_true_random=True)
"""One draw in the place of dozens: where things are cut and in which order they come."""


@dataclass(frozen=True)
class Sent:
    """An answer's calls, each cut into pieces, and whose turn it is again and again."""

    thought: str
    text: str
    calls: tuple[tuple[str, str, tuple[str, ...], dict[str, Any]], ...]
    """Id, name, pieces, and the object that they make."""
    order: tuple[int, ...]
    """The call of each piece."""

    @property
    def expected(self) -> list[ToolUse]:
        return [ToolUse(id_, name, input_) for id_, name, _, input_ in self.calls]


@st.composite
def answers(draw: st.DrawFn) -> Sent:
    chance = draw(CHANCE)
    calls = []
    for number in range(draw(st.integers(1, 5))):
        value = draw(INPUTS)
        raw = json.dumps(value, ensure_ascii=chance.random() < 0.5)
        edges = sorted(chance.randint(0, len(raw)) for _ in range(chance.randint(0, 5)))
        pieces = tuple(raw[start:end] for start, end in pairwise([0, *edges, len(raw)]))
        calls.append((f"call_{number}", chance.choice(TOOLS), pieces, value))
    turns = [number for number, (_, _, pieces, _) in enumerate(calls) for _ in pieces]
    chance.shuffle(turns)
    return Sent(draw(WORDS), draw(WORDS), tuple(calls), tuple(turns))


def events_of(speech: Speech, body: bytes, edges: Sequence[int] = ()) -> list[StreamEvent]:
    parser, stream, events = SseParser(), speech.stream(TOOLS), list[StreamEvent]()
    for start, end in pairwise([0, *edges, len(body)]):
        for sent in parser.feed(body[start:end]):
            events += stream.feed(sent)
    return events + stream.close(parser.close())


def body_of(speech: Speech, sent: Sent) -> bytes:
    """The answer as its protocol writes it, one piece of one call at a time, in the order of turns."""
    left = [list(pieces) for _, _, pieces, _ in sent.calls]
    padded: list[list[str | None]] = [[] for _ in sent.calls]
    for turn in sent.order:
        for number, pieces in enumerate(padded):
            pieces.append(left[number].pop(0) if number == turn else None)
    calls: list[Call] = [(id_, name, padded[n]) for n, (id_, name, _, _) in enumerate(sent.calls)]
    w = speech.writer()
    prose = (w.thought(sent.thought) if sent.thought else b"") + (w.text(sent.text) if sent.text else b"")
    return prose + w.calls(*calls) + w.end("tool_use")


@over_protocols
@tried(share=len(SPEECHES))
@given(sent=answers())
def test_any_interleaving_of_calls_gives_the_same_blocks(speech: Speech, sent: Sent) -> None:
    blocks = message(events_of(speech, body_of(speech, sent))).blocks
    assert [_plain(block) for block in blocks if isinstance(block, ToolUse)] == sent.expected
    in_turn = Sent(sent.thought, sent.text, sent.calls, tuple(sorted(sent.order)))
    one_after_another = message(events_of(speech, body_of(speech, in_turn))).blocks
    assert blocks == one_after_another


@over_protocols
@tried(share=len(SPEECHES))
@given(sent=answers(), chance=CHANCE, cuts=st.integers(0, 40))
def test_any_slicing_of_any_answer_gives_the_same_events(
    speech: Speech, sent: Sent, chance: Random, cuts: int
) -> None:
    body = body_of(speech, sent)
    edges = sorted(chance.randint(0, len(body)) for _ in range(cuts))
    assert events_of(speech, body, edges) == events_of(speech, body)


@tried()
@given(
    sent=answers(),
    opened=st.sampled_from(["first", "when its turn comes"]),
    told=st.sampled_from(["once", "id again", "all again", "no index"]),
    step=st.integers(1, 10**6),
)
@example(Sent("", "", (("call_0", "Bash", ("{}",), {}),), (0,)), "first", "no index", 1)
def test_calls_are_told_apart_however_a_server_names_their_pieces(
    sent: Sent, opened: str, told: str, step: int
) -> None:
    left = [list(pieces) for _, _, pieces, _ in sent.calls]
    begun: set[int] = set()
    body = b""
    opening = range(len(sent.calls)) if opened == "first" else ()
    for number, turn in [*((n, None) for n in opening), *((n, n) for n in sent.order)]:
        for late in range(number + 1):  # a call begins after those before it
            if late not in begun:
                body += _piece(sent, late, told, step, "", first=True)
                begun.add(late)
        if turn is not None:
            body += _piece(sent, number, told, step, left[number].pop(0), first=False)
    built = message(events_of(CHAT, body + finish("tool_calls") + DONE))
    assert list(built.tool_uses) == sent.expected


def _piece(sent: Sent, number: int, told: str, step: int, arguments: str, *, first: bool) -> bytes:
    id_, name, _, _ = sent.calls[number]
    piece: dict[str, Any] = {"function": {"arguments": arguments}}
    if told != "no index":
        piece["index"] = number * step
    if first or told != "once":
        piece["id"] = id_
    if first or told == "all again":
        piece["function"]["name"] = name
    return chunk({"tool_calls": [piece]})


def _plain(block: ContentBlock) -> ContentBlock:
    """Without what a protocol wants back."""
    match block:
        case ToolUse(id_, name, input_, broken, raw):
            return ToolUse(id_, name, input_, broken, raw)
        case Reasoning(text):
            return Reasoning(text)
        case _:
            return block
