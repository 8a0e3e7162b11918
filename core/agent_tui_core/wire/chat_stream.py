"""Owns the reading of one chat completion: server-sent events in, stream events out (rules P1 to P16).

Refuses to run, to retry or to wait; an error leaves in the server's own words, after what came before it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Final

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.events import ReasoningDelta, StreamEvent
from agent_tui_core.messages import StopReason, ThinkTags
from agent_tui_core.wire.answer import DONE, TOGETHER, AnswerReader, no_chunk
from agent_tui_core.wire.finish_reasons import FAILED, FILTERED, LENGTH
from agent_tui_core.wire.json_text import decoded
from agent_tui_core.wire.refusals import ended_badly, refusal_in, refusal_of
from agent_tui_core.wire.sse import ServerSentEvent
from agent_tui_core.wire.surrogates import mended, mended_json
from agent_tui_core.wire.thinking import prose, reasoning, reasoning_details
from agent_tui_core.wire.usage import usage_in
from agent_tui_core.wire.usual_chunk import usual_text, usual_texts

_FIRST: Final = (None, 0, "0")
"""How the first choice is numbered; some servers write numbers as strings."""
_PATIENCE: Final = 8
"""Unusual chunks in a row after which an answer's chunks are not tried as usual ones any more."""


class ChatStream(AnswerReader):
    """One streamed answer: feed it the events of its body, then close it.

    It sees errors in every shape, `ServerSentEvent("error", …)` included, which is also what the parser makes
    of llama.cpp's `error:` field.
    """

    def __init__(self, tool_names: Collection[str] = (), *, think_tags: ThinkTags = True) -> None:
        super().__init__(tool_names, think_tags=think_tags)
        self._sends_back_content = False
        self._unusual = 0
        """Chunks since the last usual one."""

    def _read_on(self, sent: Sequence[ServerSentEvent], said: list[StreamEvent]) -> None:
        rest = iter(sent)
        while True:
            event: ServerSentEvent | None
            if self._unusual < _PATIENCE and not self.done:
                texts, event = usual_texts(rest)
                self._say_all(texts, said)
            else:
                event = next(rest, None)
            if event is None:
                return
            said += self.feed(event)

    def _say_all(self, texts: list[str], said: list[StreamEvent]) -> None:
        """Say the texts of usual chunks; where they are many, so many at once as `joined` makes one."""
        if not texts:
            return
        self._unusual = 0
        if len(texts) >= TOGETHER:
            starts = range(0, len(texts), TOGETHER)
            texts = ["".join(texts[start : start + TOGETHER]) for start in starts]
        for text in texts:
            self._say("text", text, said)

    def _read(self, event: ServerSentEvent, events: list[StreamEvent]) -> None:
        if event.event == "error":
            raise refusal_of(event.data)
        if self._unusual < _PATIENCE:
            if text := usual_text(event.data):
                self._unusual = 0
                self._say("text", text, events)
                return
            self._unusual += 1
        try:
            chunk = decoded(event.data)
        except ValueError as error:
            self._read_unusual(event.data, error, events)
        else:
            self._read_chunk(chunk, events)

    def _read_unusual(self, data: str, error: ValueError, events: list[StreamEvent]) -> None:
        """Read what is no JSON document: `[DONE]`, nothing, or several documents, one a line.

        Behind a whole answer the end mark of a stream may stand, with its `data:`.
        """
        lines = [line for line in data.split("\n") if line.strip()]
        if len(lines) > 1:
            for line in lines:
                if not self.done:
                    self._read(ServerSentEvent(data=line), events)
        elif data.strip().removeprefix("data:").strip() == DONE:
            self.done = True
        elif lines:
            raise no_chunk(data, str(error), retryable=True) from error

    def _read_chunk(self, chunk: Json, events: list[StreamEvent]) -> None:
        if isinstance(chunk, dict):
            self._read_usage(chunk, events)
            choice = _first_choice(chunk.get("choices"))
            if choice is not None:
                self._read_choice(choice, events)
        error = refusal_in(chunk)
        if error is not None:
            raise error
        if not isinstance(chunk, dict):
            raise no_chunk(json.dumps(chunk), "it is no object")

    def _read_usage(self, chunk: JsonObject, events: list[StreamEvent]) -> None:
        usage = usage_in(chunk)
        if usage is not None:
            self._report(usage, events)

    def _read_choice(self, choice: JsonObject, events: list[StreamEvent]) -> None:
        delta = choice.get("delta")
        if not isinstance(delta, dict) or not delta:
            delta = choice.get("message") if not self._started else None
        if isinstance(delta, dict):
            self._read_delta(delta, events)
        reason, native = choice.get("finish_reason"), choice.get("native_finish_reason")
        if isinstance(reason, str) and reason and not _never_runs(self._reason):
            told = isinstance(native, str) and _never_runs(native) and not _never_runs(reason)
            self._reason = mended(str(native) if told else reason)
        if choice.get("error"):
            raise refusal_in({"error": choice["error"]}) or refusal_of("")

    def _read_delta(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        self._read_reasoning(delta, events)
        for kind, text in prose(delta):
            self._say(kind, text, events)
        events += self._take_calls(delta, events)

    def _read_reasoning(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        text, source = reasoning(delta)
        opaque: dict[str, Json] = {}
        if details := reasoning_details(delta):
            opaque["reasoning_details"] = mended_json(details)
        if extra := delta.get("extra_content"):
            opaque["extra_content"] = mended_json(extra)
        if not text and not opaque:
            return
        self._started |= bool(text)
        self._sends_back_content |= source == "reasoning_content"
        words = "".join(piece for _, piece in self._prose.feed("reasoning", text))
        if words or opaque:
            events.append(ReasoningDelta(words, opaque or None))

    def _sign(self) -> list[StreamEvent]:
        wanted = self._sends_back_content and len(self._calls)
        return [ReasoningDelta("", {"reasoning_content": True})] if wanted else []

    def _stop_reason(self) -> StopReason:
        said = _parts(self._reason)
        if said & FAILED:
            raise ended_badly((self._reason or "").lower())
        if said & LENGTH:
            return "length"
        if said & FILTERED:
            return "content_filter"
        return "tool_use" if len(self._calls) else "end"


def whole_answer(body: bytes, tool_names: Collection[str] = ()) -> list[StreamEvent]:
    """Read a body that came in the place of a stream; raises what it ended in. See `AnswerReader.whole`."""
    stream = ChatStream(tool_names)
    events = stream.whole(body)
    if stream.failed is not None:
        raise stream.failed
    return events


def _first_choice(choices: Json) -> JsonObject | None:
    if not isinstance(choices, list):
        return None
    for choice in choices:
        if isinstance(choice, dict) and choice.get("index") in _FIRST:
            return choice
    return None


def _never_runs(reason: str | None) -> bool:
    """Whether a finish reason forbids the calls of its answer, whatever comes after it."""
    return bool(_parts(reason) & (LENGTH | FILTERED | FAILED))


def _parts(reason: str | None) -> frozenset[str]:
    """The words of a finish reason; Gemini joins two: `function_call_filter: MALFORMED_FUNCTION_CALL`."""
    return frozenset(part.strip() for part in (reason or "").lower().split(":"))
