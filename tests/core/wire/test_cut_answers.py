"""An answer that was cut at any byte is never taken for a whole one, and none of its calls can run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui_core.errors import ProviderError
from agent_tui_core.events import AnswerEnded, StreamEvent
from agent_tui_core.messages import Message
from agent_tui_core.wire.accumulator import Accumulator
from agent_tui_core.wire.answer import AnswerStream
from agent_tui_core.wire.openai import ChatStream
from agent_tui_core.wire.sse import SseParser
from protocols import Speech, over_protocols

STREAMS = sorted((Path(__file__).parents[2] / "streams").glob("*.sse"))
TOOLS = ("Read", "Glob", "Bash")
ENDED = re.compile(rb'"(finish|stop)_reason"\s*:\s*"|data: ?\[DONE\]|response\.(completed|incomplete)"')
"""What no answer ends without."""


def read(stream: AnswerStream, body: bytes) -> tuple[Message | None, ProviderError | None]:
    """What an agent has of these bytes, and the error that it is told of."""
    parser, events = SseParser(), list[StreamEvent]()
    wrong: ProviderError | None = None
    try:
        for sent in parser.feed(body):
            events += stream.feed(sent)
        events += stream.close(parser.close())
    except ProviderError as error:
        wrong = error
    accumulator = Accumulator()
    for event in events:
        accumulator.add(event)
    wrong = wrong or stream.failed
    assert (wrong is None) == (bool(events) and isinstance(events[-1], AnswerEnded))
    return accumulator.message(), wrong


def runnable(message: Message | None) -> list[tuple[str, str]]:
    uses = () if message is None else message.tool_uses
    return [(use.name, str(use.input)) for use in uses if not use.broken]


def check_each_cut(make: Callable[[], AnswerStream], body: bytes) -> None:
    whole, _ = read(make(), body)
    for cut in range(len(body)):
        message, wrong = read(make(), body[:cut])
        if wrong is None:
            assert ENDED.search(body[:cut]), f"{cut}: completed without an end"
            assert set(runnable(message)) <= set(runnable(whole)), cut
        else:
            assert runnable(message) == [], f"{cut}: a call of an answer that failed"
            assert message is None or message.stop_reason == "error"


@pytest.mark.parametrize("path", STREAMS, ids=[path.stem for path in STREAMS])
def test_a_recorded_stream_that_is_cut_anywhere_is_no_whole_answer(path: Path) -> None:
    check_each_cut(lambda: ChatStream(TOOLS), path.read_bytes())


@over_protocols
def test_an_answer_of_each_protocol_that_is_cut_anywhere_is_no_whole_answer(speech: Speech) -> None:
    w = speech.writer()
    calls = w.calls(("call_a", "Bash", ['{"command": "rm -r', ' build"}']), ("call_b", "Read", ["{}"]))
    body = w.thought("hm") + w.text("I look.") + calls + w.end("tool_use")
    check_each_cut(lambda: speech.stream(TOOLS), body)


@over_protocols
@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_its_provider_cut_runs_nothing_wherever_else_it_is_cut(
    speech: Speech, reason: str
) -> None:
    w = speech.writer()
    end = w.end(reason)  # type: ignore[arg-type]  # a parameter
    body = w.text("I look.") + w.calls(("call_a", "Bash", ['{"command": "rm -r build"}'])) + end
    for cut in range(len(body) + 1):
        message, _ = read(speech.stream(TOOLS), body[:cut])
        assert runnable(message) == [], cut


@over_protocols
def test_the_last_words_of_a_cut_answer_are_not_lost(speech: Speech) -> None:
    w = speech.writer()
    body = w.text("Hello") + w.text(" there")
    message, wrong = read(speech.stream(TOOLS), body.rstrip(b"\n"))  # the blank line never came
    assert wrong is not None
    assert message is not None
    assert message.text == "Hello there"


@over_protocols
def test_words_that_waited_for_a_tag_are_not_lost_when_the_answer_breaks_off(speech: Speech) -> None:
    for said, end in (("<thi", b""), ("<think>so</thi", b""), ("<thi", speech.writer().error("gone"))):
        stream = speech.stream(TOOLS, think_tags=True)
        message, wrong = read(stream, speech.writer().text(said) + end)
        assert wrong is not None
        assert message is not None
        assert "".join(getattr(block, "text", "") for block in message.blocks) == said.removeprefix("<think>")
