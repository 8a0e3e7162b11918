"""Owns what all answers have in common: errors after what came before them, one end, never an empty answer.

Refuses to know a protocol: a subclass reads one event, and says what its finish reason means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Final, Literal, Protocol

from agent_tui_core.blocks import JsonObject
from agent_tui_core.errors import ProviderError, StreamMalformed, StreamTruncated
from agent_tui_core.events import (
    AnswerEnded,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolUseDelta,
    UsageReported,
)
from agent_tui_core.messages import StopReason, ThinkTags, Usage
from agent_tui_core.wire.call_pieces import CallPieces
from agent_tui_core.wire.json_text import decoded
from agent_tui_core.wire.refusals import refusal_of
from agent_tui_core.wire.sse import ServerSentEvent, SseParser
from agent_tui_core.wire.surrogates import mended
from agent_tui_core.wire.thinking import Piece, ProseKeeper

DONE: Final = "[DONE]"
_MOST_QUOTED: Final = 120
TOGETHER: Final = 16
"""Pieces that become one where that many, or more, came in one reading."""


class AnswerStream(Protocol):
    """One answer of a server: feed it the events of its body, then close it; or read a body that is whole."""

    done: bool
    """Nothing that follows counts: stop reading, call `close`."""
    failed: ProviderError | None
    """What the answer ended in; what came before it is returned first. `close` and `whole` set it too."""

    def feed(self, event: ServerSentEvent) -> list[StreamEvent]:
        """Read one event; raises `ProviderError` for an error in it and for what is none of this protocol."""
        ...

    def feed_all(self, sent: Sequence[ServerSentEvent]) -> tuple[list[StreamEvent], ProviderError | None]:
        """Read what one reading brought; where much came, neighbours are joined. The error comes after it."""
        ...

    def close(self, pending: ServerSentEvent | None = None) -> list[StreamEvent]:
        """End the input; the last events, `AnswerEnded` last; with none, raise what the answer ended in."""
        ...

    def whole(self, body: bytes) -> list[StreamEvent]:
        """Read a body that came in the place of a stream: an answer or an error in one JSON document."""
        ...


class AnswerReader(ABC):
    """An `AnswerStream` but for the reading of one event."""

    def __init__(self, tool_names: Collection[str] = (), *, think_tags: ThinkTags = True) -> None:
        self.done = False
        """The end mark came, or an error: nothing that follows counts."""
        self.failed: ProviderError | None = None
        self._calls = CallPieces(tool_names)
        self._prose = ProseKeeper(think_tags=think_tags)
        self._usage = Usage()
        self._reason: str | None = None
        self._started = False

    def feed(self, event: ServerSentEvent) -> list[StreamEvent]:
        """Read one event. Raises `ProviderRefused` for an error, `StreamMalformed` for what is no event.

        When the event holds a part of the answer before its error, the part is returned, `done` is set and
        the error is raised by the next call.
        """
        if self.failed is not None:
            raise self.failed
        events: list[StreamEvent] = []
        if self.done:
            return events
        try:
            self._read(event, events)
        except ProviderError as error:
            self.failed, self.done = error, True
            events += self._settled(self._prose.close())
            if not events:
                raise
        except RecursionError as error:
            self.failed, self.done = no_chunk(event.data, "it is nested too deep"), True
            raise self.failed from error
        return events

    def feed_all(self, sent: Sequence[ServerSentEvent]) -> tuple[list[StreamEvent], ProviderError | None]:
        """Read what one reading brought, as `feed` does, and return what it would have raised."""
        said: list[StreamEvent] = []
        try:
            self._read_on(sent, said)
        except ProviderError as error:
            return joined(said), error
        return joined(said), None

    def close(self, pending: ServerSentEvent | None = None) -> list[StreamEvent]:
        """End the input; return the last events, `AnswerEnded` last.

        `pending`, what the parser had not ended, counts if it is `[DONE]` or one whole chunk. An answer can
        end in what `feed` still had to raise, in `StreamTruncated` when neither a finish reason nor the end
        mark came, in `StreamMalformed` when it is empty, in `ProviderRefused` when its finish reason is a
        failure: that is `failed` then, and raised when no event is left to return.
        """
        events: list[StreamEvent] = []
        try:
            if pending is not None and not self.done and _is_whole(pending):
                events += self.feed(pending)
            if self.failed is None:
                events += self._finish()
            events += self._settled(self._prose.close())
            events += self._calls.close()
            if self.failed is None:
                events += self._closing()
        except ProviderError as error:
            self.failed = error
        if self.failed is not None and not events:
            raise self.failed
        return events

    def _closing(self) -> list[StreamEvent]:
        if self._reason is None and not self.done:
            raise StreamTruncated(
                "the answer broke off: the server ended it without a finish reason"
                if self._started
                else "empty response: the server ended the answer before it began"
            )
        stop_reason = self._stop_reason()
        if not self._started:
            raise StreamMalformed(_nothing_came(stop_reason))
        return [*self._sign(), AnswerEnded(stop_reason, self._reason)]

    def whole(self, body: bytes) -> list[StreamEvent]:
        """Read a body that came in the place of a stream: a whole JSON answer, or an event stream after all.

        An error is `failed`, and raised when nothing came before it, as in `close`: `ProviderRefused` for
        the server's own and for a page of words, `StreamMalformed` for anything else.
        """
        text = body.decode("utf-8", "replace").removeprefix("\ufeff").strip()
        if text.startswith(("data:", "event:", ":")):
            parser = SseParser(max_event_bytes=len(body))
            return self._read_all(parser.feed(body), parser.close())
        if text and text[0] not in "{[":
            raise refusal_of(text)
        return self._read_all([ServerSentEvent(data=text), ServerSentEvent(data=DONE)])

    def _read_all(
        self, body: Iterable[ServerSentEvent], pending: ServerSentEvent | None = None
    ) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        with suppress(ProviderError):  # it is `failed` now
            for sent in body:
                events += self.feed(sent)
        with suppress(ProviderError):
            events += self.close(pending)
        if self.failed is not None and not events:
            raise self.failed
        return events

    def _read_on(self, sent: Sequence[ServerSentEvent], said: list[StreamEvent]) -> None:
        """Add what the events say to `said`; a subclass may do it faster."""
        for event in sent:
            said += self.feed(event)

    @abstractmethod
    def _read(self, event: ServerSentEvent, events: list[StreamEvent]) -> None:
        """Add what one event says to `events`; raise `ProviderError` for an error in it."""

    @abstractmethod
    def _stop_reason(self) -> StopReason:
        """What the finish reason means; raises `ProviderRefused` when it names a failure."""

    def _finish(self) -> list[StreamEvent]:
        """What was still to be said when the input ended."""
        return []

    def _sign(self) -> list[StreamEvent]:
        """What the provider wants back with the whole answer."""
        return []

    def _say(self, kind: Literal["text", "reasoning"], text: str, events: list[StreamEvent]) -> None:
        if text:
            self._started = True
            for settled, piece in self._prose.feed(kind, text):
                events.append(TextDelta(piece) if settled == "text" else ReasoningDelta(piece))

    def _take_calls(self, delta: JsonObject, events: list[StreamEvent]) -> list[ToolUseDelta]:
        """Read pieces of calls, after the words before them that still waited."""
        calls = self._calls.feed(delta)
        if calls:
            self._started = True
            events += self._settled(self._prose.settle())
        return calls

    def _report(self, usage: Usage, events: list[StreamEvent]) -> None:
        largest = self._usage.maximum(usage)
        if largest != self._usage:
            self._usage = largest
            events.append(UsageReported(largest))

    def _settled(self, pieces: Iterable[Piece]) -> list[StreamEvent]:
        return [TextDelta(text) if kind == "text" else ReasoningDelta(text) for kind, text in pieces]


def joined(events: list[StreamEvent]) -> list[StreamEvent]:
    """The same events; where many came at once, up to `TOGETHER` neighbouring pieces of one kind are one.

    A few pieces stay what they are: who receives them sees an answer grow.
    """
    if len(events) < TOGETHER:
        return events
    kept: list[StreamEvent] = []
    pieces: list[str] = []
    for event in events:
        last = kept[-1] if kept and len(pieces) < TOGETHER - 1 else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            pieces.append(event.text)
        elif isinstance(event, ReasoningDelta | ToolUseDelta) and _goes_on(last, event):
            pieces.append(event.text if isinstance(event, ReasoningDelta) else event.arguments)
        else:
            _join(kept, pieces)
            kept.append(event)
    _join(kept, pieces)
    return kept


def _goes_on(last: StreamEvent | None, event: ReasoningDelta | ToolUseDelta) -> bool:
    if type(last) is not type(event) or event.opaque is not None:
        return False
    if isinstance(last, ToolUseDelta) and isinstance(event, ToolUseDelta):
        return (last.call, last.id, last.name) == (event.call, event.id, event.name)
    return isinstance(last, ReasoningDelta) and last.opaque is None


def _join(kept: list[StreamEvent], pieces: list[str]) -> None:
    if not pieces:
        return
    match kept[-1]:
        case TextDelta(text):
            kept[-1] = TextDelta("".join((text, *pieces)))
        case ReasoningDelta(text):
            kept[-1] = ReasoningDelta("".join((text, *pieces)))
        case ToolUseDelta(call, id_, name, arguments, opaque):
            kept[-1] = ToolUseDelta(call, id_, name, "".join((arguments, *pieces)), opaque)
        case _:
            raise AssertionError("only pieces go on")
    pieces.clear()


def no_chunk(data: str, why: str, *, retryable: bool = False) -> StreamMalformed:
    """Return the error for data that is no part of an answer; `retryable` when it is no JSON at all."""
    quoted = data if len(data) <= _MOST_QUOTED else data[:_MOST_QUOTED] + "…"
    words = f"the server sent what is no chunk of an answer ({why}): {mended(quoted)}"
    return StreamMalformed(words, retryable=retryable)


def _nothing_came(stop_reason: StopReason) -> str:
    if stop_reason == "length":
        return "empty response: the output limit (max_tokens) was reached before the answer began"
    if stop_reason == "content_filter":
        return "empty response: the provider's content filter stopped the answer before it began"
    return "empty response: the server ended the answer and there is nothing in it"


def _is_whole(pending: ServerSentEvent) -> bool:
    data = pending.data.strip()
    if pending.event == "error" or data == DONE:
        return True
    try:
        return isinstance(decoded(data), dict)
    except ValueError:
        return False
