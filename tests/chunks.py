"""Owns short ways to write chunks of a chat completion and to read a whole answer of them, for tests."""

from __future__ import annotations

import json
from typing import Any

from agent_tui_core.events import StreamEvent
from agent_tui_core.messages import Message, ThinkTags
from agent_tui_core.wire.accumulator import Accumulator
from agent_tui_core.wire.openai import ChatStream
from agent_tui_core.wire.sse import ServerSentEvent

TOOLS = ("Read", "Bash", "get_weather")


def sse(data: object, event: str = "message") -> ServerSentEvent:
    return ServerSentEvent(event, data if isinstance(data, str) else json.dumps(data))


def delta(finish: str | None = None, **fields: object) -> ServerSentEvent:
    return sse({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def calls(*pieces: dict[str, Any]) -> ServerSentEvent:
    return delta(tool_calls=list(pieces))


def piece(
    index: object = None, call_id: object = None, name: object = None, arguments: object = None
) -> dict[str, Any]:
    outer = {"index": index, "id": call_id}
    inner = {"name": name, "arguments": arguments}
    return {
        **{key: value for key, value in outer.items() if value is not None},
        "function": {key: value for key, value in inner.items() if value is not None},
    }


DONE = sse("[DONE]")
STOP = delta("stop")


def run(
    *events: ServerSentEvent, tools: tuple[str, ...] = TOOLS, think: ThinkTags = True
) -> list[StreamEvent]:
    stream = ChatStream(tools, think_tags=think)
    return [out for event in events for out in stream.feed(event)] + stream.close()


def message(*events: ServerSentEvent, tools: tuple[str, ...] = TOOLS) -> Message:
    accumulator = Accumulator()
    for event in run(*events, tools=tools):
        accumulator.add(event)
    built = accumulator.message()
    assert built is not None
    return built


def uses(*events: ServerSentEvent, tools: tuple[str, ...] = TOOLS) -> list[tuple[str, Any]]:
    return [(use.name, use.broken or use.input) for use in message(*events, DONE, tools=tools).tool_uses]
