from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core.errors import StreamMalformed
from agent_tui_core.wire import sse
from agent_tui_core.wire.sse import MOST_RETRY_MS, ServerSentEvent, SseParser
from properties import tried

Parsed = tuple[list[ServerSentEvent], ServerSentEvent | None, str, int | None]

SITUATIONS: dict[str, tuple[bytes, list[ServerSentEvent]]] = {
    "one line": (b"data: a\n\n", [ServerSentEvent(data="a")]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [ServerSentEvent(data="a"), ServerSentEvent(data="b")]),
    "CR": (b"data: a\r\rdata: b\r\r", [ServerSentEvent(data="a"), ServerSentEvent(data="b")]),
    "mixed ends": (b"data: a\r\ndata: b\rdata: c\n\r\n", [ServerSentEvent(data="a\nb\nc")]),
    "lines join with LF": (b"data: a\ndata\ndata: b\n\n", [ServerSentEvent(data="a\n\nb")]),
    "at most one space goes": (b"data:  a \ndata:b\n\n", [ServerSentEvent(data=" a \nb")]),
    "a colon in the value": (b"data: a: b:\n\n", [ServerSentEvent(data="a: b:")]),
    "empty data is an event": (b"data\n\ndata:\n\n", [ServerSentEvent(), ServerSentEvent()]),
    "no data is no event": (b"event: x\n\n\n\ndata: a\n\n", [ServerSentEvent(data="a")]),
    "an event name holds once": (
        b"event: x\nevent: y\ndata: a\n\ndata: b\n\n",
        [ServerSentEvent("y", "a"), ServerSentEvent(data="b")],
    ),
    "an empty name is message": (b"event: x\nevent\ndata: a\n\n", [ServerSentEvent(data="a")]),
    "a comment ends nothing": (b"data: a\n: ping\n:\ndata: b\n\n", [ServerSentEvent(data="a\nb")]),
    "comments alone": (b": OPENROUTER PROCESSING\n\n: again\n\n", []),
    "unknown names": (b"Data: a\n data: b\ndata : c\nfoo: d\ndat: e\n{}\n\n", []),
    "ids persist": (
        b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
        [ServerSentEvent(data="a", id="1"), ServerSentEvent(data="b", id="1"), ServerSentEvent(data="c")],
    ),
    "an id without data counts": (b"id: 1\n\ndata: a\n\n", [ServerSentEvent(data="a", id="1")]),
    "an id with NUL does not": (
        b"id: 1\n\nid: 2\0\ndata: a\n\n",
        [ServerSentEvent(data="a", id="1")],
    ),
    "a BOM is stripped once": (
        b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: \xef\xbb\xbf\n\n",
        [ServerSentEvent(data="a"), ServerSentEvent(data="\ufeff")],
    ),
    "only one BOM": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [ServerSentEvent(data="b")]),
    "other line ends are content": (
        "data: a\x0bb\x0cc\x85d\u2028e\u2029f\x1cg\n\n".encode(),
        [ServerSentEvent(data="a\x0bb\x0cc\x85d\u2028e\u2029f\x1cg")],
    ),
    "UTF-8": ("data: żółw 🐢\n\n".encode(), [ServerSentEvent(data="żółw 🐢")]),
    "bad UTF-8": (b"data: \xf0\x9f\x90\ndata: \xff\xc3\n\n", [ServerSentEvent(data="\ufffd\n\ufffd\ufffd")]),
    "data after data in another block": (
        b"data: a\n\ndata: b\ndata: c\n\ndata: d\n\n",
        [ServerSentEvent(data="a"), ServerSentEvent(data="b\nc"), ServerSentEvent(data="d")],
    ),
    "an error field": (
        b'error: {"code": 500}\n\n',
        [ServerSentEvent("error", '{"code": 500}')],
    ),
    "an error field after data": (
        b"data: a\nerror: {}\n\n",
        [ServerSentEvent(data="a"), ServerSentEvent("error", "{}")],
    ),
    "an error field that is no object": (b"error: yes\n\n", []),
}


def parsed(body: bytes, cuts: list[int]) -> Parsed:
    parser = SseParser()
    edges = [0, *sorted(cuts), len(body)]
    events = [event for start, end in pairwise(edges) for event in parser.feed(body[start:end])]
    return events, parser.close(), parser.last_event_id, parser.retry_ms


def by_the_book(body: bytes) -> tuple[list[ServerSentEvent], str, int | None]:
    """The rules of WHATWG HTML 9.2.6, written down as they stand there, for a whole body."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    *lines, _unfinished = re.split("\r\n|\r|\n", text)
    data, name, last_id, id_, retry = "", "", "", "", None
    events = []
    for line in lines:
        field, _colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            last_id = id_
            if data:
                events.append(ServerSentEvent(name or "message", data[:-1], last_id))
            data, name = "", ""
        elif field == "data":
            data += value + "\n"
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            id_ = value
        elif field == "retry" and re.fullmatch("[0-9]+", value):
            retry = int(value)
    return events, last_id, retry


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_event_stream_is_read_by_the_rules_wherever_it_is_cut(situation: str) -> None:
    body, expected = SITUATIONS[situation]
    assert parsed(body, [])[0] == expected
    assert parsed(body, list(range(len(body))))[0] == expected
    for cut in range(len(body)):
        assert parsed(body, [cut])[0] == expected, cut


def pieces() -> Iterator[bytes]:
    yield from (
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b"data: ",
        b"data:",
        b"data",
        b"event: x",
        b"event",
    )
    yield from (
        b"id: 1",
        b"id",
        b"id: a\0",
        b"retry: 12",
        b"retry: 1x",
        b"retry: \xd9\xa1",
        b": note",
        b":",
        b" ",
    )
    yield from (
        b"\xef\xbb\xbf",
        b"\xef",
        b"\xbb",
        b"\xbf",
        b"\xe2\x80\xa8",
        b"\xf0\x9f",
        b"\x90\xa2",
        b"a",
        b"{}",
    )
    yield from (
        b"data: a\n\n",
        b"data: b\n\ndata: c\n\n",
        b"[DONE]",
        b"\x0b",
        b"\xc2\x85",
        b"\xed\xa0\x80",
        b"\0",
    )


@tried()
@given(st.lists(st.sampled_from(sorted(pieces())), max_size=24).map(b"".join), st.data())
def test_any_bytes_in_any_slices_mean_what_the_standard_says(body: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "_LONG", data.draw(st.sampled_from([0, sse._LONG])))
        sliced = parsed(body, cuts)
        assert sliced == parsed(body, []) == parsed(body, list(range(len(body))))
    assert (sliced[0], *sliced[2:]) == by_the_book(body)


def test_an_event_leaves_with_the_chunk_that_completes_it() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\n\r") == [ServerSentEvent(data="a")]
    assert parser.feed(b"\ndata: b\r\r") == [ServerSentEvent(data="b")]
    assert parser.feed(b"data: c\n") == []
    assert parser.feed(b"\n") == [ServerSentEvent(data="c")]


def test_an_unfinished_event_is_no_event_but_is_handed_over_as_pending() -> None:
    parser = SseParser()
    assert parser.feed(b"id: 1\n\nid: 2\nevent: x\ndata: [DONE]") == []
    assert parser.close() == ServerSentEvent("x", "[DONE]", "1")
    assert parser.last_event_id == "1"


@pytest.mark.parametrize("body", [b"", b": comment", b"event: x\n", b"foo: bar", b"data: a\n\n", b"\xef\xbb"])
def test_nothing_begun_is_nothing_pending(body: bytes) -> None:
    parser = SseParser()
    parser.feed(body)
    assert parser.close() is None


def test_a_wait_of_more_than_a_day_is_no_wait() -> None:
    parser = SseParser()
    parser.feed(b"retry: 250\n\nretry: 86400001\n\nretry: 999999999999999\n\n")
    assert parser.retry_ms == 250
    assert [event.data for event in parser.feed(b"retry: " + b"9" * 1_000_000 + b"\ndata: on\n\n")] == ["on"]
    assert parser.retry_ms == 250
    parser.feed(b"retry: 86400000\n\n")
    assert parser.retry_ms == MOST_RETRY_MS


def test_a_pending_error_field_is_an_error_event() -> None:
    parser = SseParser()
    parser.feed(b'error: {"code": 1}')
    assert parser.close() == ServerSentEvent("error", '{"code": 1}')
    assert parser.error_fields == ['{"code": 1}']


@pytest.mark.parametrize("value", [b"", b"-1", b"1.5", b"1_0", b"\xd9\xa1", b" 7", b"9" * 5000])
def test_retry_takes_ascii_digits_only(value: bytes) -> None:
    parser = SseParser()
    parser.feed(b"retry: 250\nretry: " + value + b"\n\n")
    assert parser.retry_ms == 250


@pytest.mark.parametrize(
    "body",
    [
        b"data: " + b"x" * 200,
        b"data: " + b"x" * 200 + b"\n\n",
        b"data: xxxxxxxxx\n" * 20,
        b": " + b"x" * 200,
        b"error: {" + b"x" * 200 + b"}\n\n",
    ],
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_an_event_over_the_limit_is_malformed_and_stays_so(body: bytes, step: int) -> None:
    parser = SseParser(max_event_bytes=100)
    good = parser.feed(b"data: ok\n\n")
    with pytest.raises(StreamMalformed, match="more than 100 bytes"):
        for start in range(0, len(body), step):
            parser.feed(body[start : start + step])
    with pytest.raises(StreamMalformed):
        parser.feed(b"data: more\n\n")
    with pytest.raises(StreamMalformed):
        parser.close()
    assert good == [ServerSentEvent(data="ok")]


def test_what_was_whole_before_an_oversized_event_is_not_lost() -> None:
    parser = SseParser(max_event_bytes=100)
    assert parser.feed(b"data: ok\n\ndata: " + b"x" * 200) == [ServerSentEvent(data="ok")]
    with pytest.raises(StreamMalformed):
        parser.feed(b"\n\n")


def test_many_small_events_are_not_one_big_one() -> None:
    parser = SseParser(max_event_bytes=100)
    body = b"data: 0123456789\n\n" * 100
    assert len(parser.feed(body)) == 100
    assert [len(parser.feed(body[i : i + 5])) for i in range(0, len(body), 5)].count(1) == 100


@pytest.mark.parametrize("step", [64, 1460])
def test_a_line_of_5_mb_in_small_pieces_takes_linear_time(step: int) -> None:
    def seconds(size: int) -> float:
        body = b"data: " + b"x" * size + b"\n\n"
        best = 9.0
        for _ in range(3):
            parser, begun = SseParser(), time.thread_time()
            events = [event for i in range(0, len(body), step) for event in parser.feed(body[i : i + step])]
            best = min(best, time.thread_time() - begun)
            assert len(events[0].data) == size
        return best

    assert seconds(5_000_000) < 12 * seconds(1_000_000) + 0.05  # 5 times when linear, 25 when quadratic


def test_chunks_that_settle_nothing_leave_the_question_of_the_mark_open() -> None:
    parser = SseParser()
    assert parser.feed(b"") == []
    assert parser.feed(b"\xef") == []
    assert parser.feed(b"data: a\n\n") == []  # the field is called "\xefdata"
    late = SseParser()
    late.feed(b"")
    assert late.feed(b"data: a\n\n") == [ServerSentEvent(data="a")]
    assert late.feed(b"\xef\xbb\xbfdata: b\n\n") == []
