"""Owns the bytes of answers in each protocol, part by part; refuses to script a server (`loopback` does).

A writer is one answer: each method gives the bytes that follow what it gave before.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

from loopback import DONE, chunk, finish, sse

Reason: TypeAlias = Literal["end", "tool_use", "length", "content_filter"]
Call: TypeAlias = tuple[str, str, Sequence[str | None]]
"""Id, name, and the pieces of the arguments; None lets a turn pass in which other calls have a piece."""
SEAL = "c2VhbGVk"


class Writer(ABC):
    """One answer, part by part."""

    @abstractmethod
    def text(self, piece: str) -> bytes:
        """A piece of text."""

    @abstractmethod
    def thought(self, words: str, seal: str = SEAL) -> bytes:
        """Whole reasoning, with what the provider wants back."""

    @abstractmethod
    def calls(self, *calls: Call) -> bytes:
        """Whole calls side by side: the first pieces of all, then the second pieces of all."""

    @abstractmethod
    def usage(self, input_tokens: int, output_tokens: int) -> bytes:
        """Counts, wherever the protocol has them before the end."""

    @abstractmethod
    def error(self, message: str) -> bytes:
        """The server is overloaded, in the middle of the answer."""

    @abstractmethod
    def end(self, reason: Reason = "end", usage: tuple[int, int, int] = (10, 5, 0)) -> bytes:
        """All that ends the answer. Usage: input, output, and how much of the input came from a cache."""


# --- chat completions ---------------------------------------------------------------------------------------


class ChatWriter(Writer):
    """After the reference of OpenAI's chat completions; a seal is OpenRouter's signed `reasoning_details`."""

    def text(self, piece: str) -> bytes:
        return chunk({"content": piece})

    def thought(self, words: str, seal: str = SEAL) -> bytes:
        return chunk({"reasoning_details": [{"type": "reasoning.text", "text": words, "signature": seal}]})

    def calls(self, *calls: Call) -> bytes:
        written = b""
        for index, (call_id, name, _) in enumerate(calls):
            function = {"name": name, "arguments": ""}
            call = {"index": index, "id": call_id, "type": "function", "function": function}
            written += chunk({"tool_calls": [call]})
        for index, piece in _side_by_side(calls):
            written += chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        return written

    def usage(self, input_tokens: int, output_tokens: int) -> bytes:
        counts = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
        return sse({"choices": [], "usage": counts})

    def error(self, message: str) -> bytes:
        return sse({"error": {"message": message, "type": "overloaded_error"}})

    def end(self, reason: Reason = "end", usage: tuple[int, int, int] = (10, 5, 0)) -> bytes:
        said = {"end": "stop", "tool_use": "tool_calls"}.get(reason, reason)
        counts = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "prompt_tokens_details": {"cached_tokens": usage[2]},
        }
        return finish(said) + sse({"choices": [], "usage": counts}) + DONE


# --- Anthropic Messages -------------------------------------------------------------------------------------


@dataclass
class MessagesWriter(Writer):
    """After platform.claude.com/docs/en/build-with-claude/streaming."""

    place: int = 0
    open: bool = False
    """A text block is open."""
    begun: bool = False

    def text(self, piece: str) -> bytes:
        written = self._begin()
        if not self.open:
            written += self._start({"type": "text", "text": ""}, self.place)
            self.open = True
        return written + self._delta({"type": "text_delta", "text": piece}, self.place)

    def thought(self, words: str, seal: str = SEAL) -> bytes:
        written = self._begin() + self._close()
        written += self._start({"type": "thinking", "thinking": "", "signature": ""}, self.place)
        written += self._delta({"type": "thinking_delta", "thinking": words}, self.place)
        written += self._delta({"type": "signature_delta", "signature": seal}, self.place)
        return written + self._stop(1)

    def redacted(self, data: str) -> bytes:
        written = self._begin() + self._close()
        return written + self._start({"type": "redacted_thinking", "data": data}, self.place) + self._stop(1)

    def calls(self, *calls: Call) -> bytes:
        written = self._begin() + self._close()
        for index, (call_id, name, _) in enumerate(calls):
            block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            written += self._start(block, self.place + index)
        for index, piece in _side_by_side(calls):
            written += self._delta({"type": "input_json_delta", "partial_json": piece}, self.place + index)
        return written + self._stop(len(calls))

    def usage(self, input_tokens: int, output_tokens: int) -> bytes:
        counts = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        return self._begin() + _named("message_delta", delta={}, usage=counts)

    def error(self, message: str) -> bytes:
        return _named("error", error={"type": "overloaded_error", "message": message})

    def end(self, reason: Reason = "end", usage: tuple[int, int, int] = (10, 5, 0)) -> bytes:
        said = {"end": "end_turn", "length": "max_tokens", "content_filter": "refusal"}.get(reason, reason)
        counts = {
            "input_tokens": usage[0] - usage[2],
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage[2],
            "output_tokens": usage[1],
        }
        ended = _named("message_delta", delta={"stop_reason": said, "stop_sequence": None}, usage=counts)
        return self._begin() + self._close() + ended + _named("message_stop")

    def _begin(self) -> bytes:
        if self.begun:
            return b""
        self.begun = True
        usage = {"input_tokens": 1, "output_tokens": 1}
        message: dict[str, Any] = {"type": "message", "role": "assistant", "content": [], "usage": usage}
        return _named("message_start", message=message) + _named("ping")

    def _close(self) -> bytes:
        return self._stop(1) if self.open else b""

    def _start(self, block: dict[str, Any], place: int) -> bytes:
        return _named("content_block_start", index=place, content_block=block)

    def _delta(self, delta: dict[str, str], place: int) -> bytes:
        return _named("content_block_delta", index=place, delta=delta)

    def _stop(self, count: int) -> bytes:
        places = range(self.place, self.place + count)
        self.open, self.place = False, self.place + count
        return b"".join(_named("content_block_stop", index=place) for place in places)


# --- OpenAI Responses ---------------------------------------------------------------------------------------


@dataclass
class ResponsesWriter(Writer):
    """After developers.openai.com/docs, api-reference/responses-streaming."""

    items: list[dict[str, Any]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """The text of the message that is open."""
    begun: bool = False

    def text(self, piece: str) -> bytes:
        written = self._begin()
        if not self.words:
            head = {"type": "message", "id": f"msg_{len(self.items)}", "role": "assistant"}
            written += self._added({**head, "status": "in_progress", "content": []})
            written += self._about("response.content_part.added", part={"type": "output_text", "text": ""})
        self.words.append(piece)
        return written + self._about("response.output_text.delta", content_index=0, delta=piece)

    def thought(self, words: str, seal: str = SEAL) -> bytes:
        written = self._begin() + self._close()
        item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{len(self.items)}", "summary": []}
        written += self._added({**item, "encrypted_content": ""})
        written += self._about("response.reasoning_summary_part.added", summary_index=0)
        written += self._about("response.reasoning_summary_text.delta", summary_index=0, delta=words)
        summary = [{"type": "summary_text", "text": words}]
        return written + self._done({**item, "summary": summary, "encrypted_content": seal})

    def calls(self, *calls: Call) -> bytes:
        written, first = self._begin() + self._close(), len(self.items)
        opened: list[dict[str, Any]] = []
        for index, (call_id, name, _) in enumerate(calls):
            head = {"type": "function_call", "id": f"fc_{first + index}", "call_id": call_id, "name": name}
            opened.append({**head, "arguments": "", "status": "in_progress"})
            written += _named("response.output_item.added", output_index=first + index, item=opened[-1])
        for index, piece in _side_by_side(calls):
            about = {"output_index": first + index, "item_id": opened[index]["id"]}
            written += _named("response.function_call_arguments.delta", **about, delta=piece)
        for item, (_, _, pieces) in zip(opened, calls, strict=True):
            whole = "".join(piece for piece in pieces if piece is not None)
            about = {"output_index": len(self.items), "item_id": item["id"]}
            written += _named("response.function_call_arguments.done", **about, arguments=whole)
            written += self._done({**item, "arguments": whole, "status": "completed"})
        return written

    def usage(self, input_tokens: int, output_tokens: int) -> bytes:
        return self._begin()

    def error(self, message: str) -> bytes:
        return _named("error", code="server_error", message=message, param=None, sequence_number=3)

    def end(self, reason: Reason = "end", usage: tuple[int, int, int] = (10, 5, 0)) -> bytes:
        written = self._begin() + self._close()
        counts = {
            "input_tokens": usage[0],
            "input_tokens_details": {"cached_tokens": usage[2]},
            "output_tokens": usage[1],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage[0] + usage[1],
        }
        cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(reason)
        status = "incomplete" if cut else "completed"
        response = {
            "object": "response",
            "status": status,
            "error": None,
            "incomplete_details": {"reason": cut} if cut else None,
            "output": self.items,
            "usage": counts,
        }
        return written + _named(f"response.{status}", response=response)

    def _begin(self) -> bytes:
        if self.begun:
            return b""
        self.begun = True
        response: dict[str, Any] = {"object": "response", "status": "in_progress", "output": []}
        return _named("response.created", response=response) + _named(
            "response.in_progress", response=response
        )

    def _close(self) -> bytes:
        if not self.words:
            return b""
        whole = "".join(self.words)
        self.words.clear()
        part = {"type": "output_text", "text": whole, "annotations": []}
        head = {"type": "message", "id": f"msg_{len(self.items)}", "role": "assistant"}
        written = self._about("response.output_text.done", text=whole)
        return written + self._done({**head, "status": "completed", "content": [part]})

    def _added(self, item: dict[str, Any]) -> bytes:
        return _named("response.output_item.added", output_index=len(self.items), item=item)

    def _about(self, kind: str, **fields: object) -> bytes:
        place = len(self.items)
        return _named(kind, output_index=place, item_id=f"item_{place}", **fields)

    def _done(self, item: dict[str, Any]) -> bytes:
        written = _named("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)
        return written


def _named(kind: str, **fields: object) -> bytes:
    """An event that has its type twice, as both of these protocols send it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _side_by_side(calls: Sequence[Call]) -> list[tuple[int, str]]:
    rounds = zip_longest(*(pieces for _, _, pieces in calls))
    return [(index, piece) for turn in rounds for index, piece in enumerate(turn) if piece is not None]
