"""Owns what all answers have in common: errors after what came before them, one end, never an empty answer.

Refuses to know a protocol: a subclass reads one event, and says what its finish reason means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Final, Literal, Protocol

from agent_tui_core.errors import ProviderError, StreamMalformed, StreamTruncated
from agent_tui_core.events import AnswerEnded, ReasoningDelta, StreamEvent, TextDelta, UsageReported
from agent_tui_core.messages import StopReason, Usage
from agent_tui_core.wire.call_pieces import CallPieces
from agent_tui_core.wire.json_text import decoded
from agent_tui_core.wire.refusals import refusal_of
from agent_tui_core.wire.sse import ServerSentEvent, SseParser
from agent_tui_core.wire.surrogates import mended
from agent_tui_core.wire.thinking import Piece, ProseKeeper

DONE: Final = "[DONE]"
_MOST_QUOTED: Final = 120


class AnswerStream(Protocol):
    """One answer of a server: feed it the events of its body, then close it; or read a body that is whole."""

    done: bool
    """Nothing that follows counts: stop reading, call `close`."""

    def feed(self, event: ServerSentEvent) -> list[StreamEvent]:
        """Read one event; raises `ProviderError` for an error in it and for what is none of this protocol."""
        ...

    def close(self, pending: ServerSentEvent | None = None) -> list[StreamEvent]:
        """End the input; the last events, `AnswerEnded` last, or the `ProviderError` that it ended in."""
        ...

    def whole(self, body: bytes) -> list[StreamEvent]:
        """Read a body that came in the place of a stream: an answer or an error in one JSON document."""
        ...


class AnswerReader(ABC):
    """An `AnswerStream` but for the reading of one event."""

    def __init__(self, tool_names: Collection[str] = (), *, think_tags: bool = False) -> None:
        self.done = False
        """The end mark came, or an error that `close` raises: nothing that follows counts."""
        self._calls = CallPieces(tool_names)
        self._prose = ProseKeeper(think_tags=think_tags)
        self._usage = Usage()
        self._reason: str | None = None
        self._failed: ProviderError | None = None
        self._started = False

    def feed(self, event: ServerSentEvent) -> list[StreamEvent]:
        """Read one event. Raises `ProviderRefused` for an error, `StreamMalformed` for what is no event.

        When the event holds a part of the answer before its error, the part is returned, `done` is set and
        the error is raised by the next call.
        """
        if self._failed is not None:
            raise self._failed
        events: list[StreamEvent] = []
        if self.done:
            return events
        try:
            self._read(event, events)
        except ProviderError as error:
            self._failed, self.done = error, True
            if not events:
                raise
        except RecursionError as error:
            self._failed, self.done = no_chunk(event.data, "it is nested too deep"), True
            raise self._failed from error
        return events

    def close(self, pending: ServerSentEvent | None = None) -> list[StreamEvent]:
        """End the input; return the last events, `AnswerEnded` last.

        `pending`, what the parser had not ended, counts if it is `[DONE]` or one whole chunk. Raises what
        `feed` still had to raise, `StreamTruncated` when neither a finish reason nor the end mark came,
        `StreamMalformed` when the answer is empty, `ProviderRefused` when its finish reason is a failure.
        """
        events: list[StreamEvent] = []
        if pending is not None and not self.done and _is_whole(pending):
            events += self.feed(pending)
        if self._failed is not None:
            raise self._failed
        events += self._finish()
        events += self._settled(self._prose.close())
        events += self._calls.close()
        if self._reason is None and not self.done:
            raise StreamTruncated(
                "the answer broke off: the server ended it without a finish reason"
                if self._started
                else "empty response: the server ended the answer before it began"
            )
        stop_reason = self._stop_reason()
        if not self._started:
            raise StreamMalformed(_nothing_came(stop_reason))
        events += self._sign()
        events.append(AnswerEnded(stop_reason, self._reason))
        return events

    def whole(self, body: bytes) -> list[StreamEvent]:
        """Read a body that came in the place of a stream: a whole JSON answer, or an event stream after all.

        Raises `ProviderRefused` for an error and for a page of words, `StreamMalformed` for anything else.
        """
        text = body.decode("utf-8", "replace").removeprefix("\ufeff").strip()
        if text.startswith(("data:", "event:", ":")):
            parser = SseParser(max_event_bytes=len(body))
            events = [event for sent in parser.feed(body) for event in self.feed(sent)]
            return events + self.close(parser.close())
        if text and text[0] not in "{[":
            raise refusal_of(text)
        events = self.feed(ServerSentEvent(data=text))
        self.done = True
        return events + self.close()

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
            events += self._settled(self._prose.feed(kind, text))

    def _report(self, usage: Usage, events: list[StreamEvent]) -> None:
        largest = self._usage.maximum(usage)
        if largest != self._usage:
            self._usage = largest
            events.append(UsageReported(largest))

    def _settled(self, pieces: Iterable[Piece]) -> list[StreamEvent]:
        return [TextDelta(text) if kind == "text" else ReasoningDelta(text) for kind, text in pieces]


def no_chunk(data: str, why: str) -> StreamMalformed:
    """Return the error for data that is no part of an answer."""
    quoted = data if len(data) <= _MOST_QUOTED else data[:_MOST_QUOTED] + "…"
    return StreamMalformed(f"the server sent what is no chunk of an answer ({why}): {mended(quoted)}")


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
