"""Owns the demo model as an HTTP transport: its bytes go through the same parser and loop as everybody's.

Refuses the network: what is asked of it is answered from the scripts in `demo_data`, or with an error status.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import httpx
import msgspec

from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.demo_cast import DEMO_BASE_URL, DemoAgent, copy_workspace, demo_agents
from agent_tui_core.providers.demo_script import Speech, WireMessage, next_speech
from agent_tui_core.providers.demo_tools import call_of_named_tool
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider

__all__ = ["DEMO_AGENTS", "DEMO_BASE_URL", "DemoTransport", "copy_workspace", "demo_provider"]

DEMO_AGENTS: tuple[DemoAgent, ...] = demo_agents()
"""Four agents with different jobs in the sample workspace."""

TOKENS_PER_SECOND = 50.0
FIRST_TOKEN_SECONDS = 0.12
_TOKEN = re.compile(r"\s*\S{1,6}|\s+")


def demo_provider(*, pace: float = 1.0) -> ModelProvider:
    """The scripted demo model, for `AgentOptions(model="demo/helper", provider=demo_provider())`.

    It needs no server and opens no socket. A prompt that names one of the given tools makes it call that
    tool, with arguments out of the prompt. `pace` stretches the time between two tokens; 0 is at once.
    """
    return OpenAIProvider(http_client(transport=DemoTransport(pace=pace)), DEMO_BASE_URL)


class DemoTransport(httpx.AsyncBaseTransport):
    """Answers POST /chat/completions and GET /models without a server and without memory."""

    def __init__(self, *, pace: float = 1.0) -> None:
        """`pace` stretches the time between two tokens; 0 is as fast as possible."""
        self._pace = pace

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request; a stream's bytes come at the pace of a model."""
        body = await request.aread()
        if request.method == "GET" and request.url.path.endswith("/models"):
            listed = [{"id": agent.model, "object": "model", "owned_by": "demo"} for agent in DEMO_AGENTS]
            return httpx.Response(200, json={"object": "list", "data": listed})
        if request.method != "POST" or not request.url.path.endswith("/chat/completions"):
            return _error(404, "the demo model knows only /chat/completions and /models")
        try:
            asked = msgspec.json.decode(body, type=_Asked)
        except msgspec.MsgspecError as error:
            return _error(400, f"the demo model cannot read this request: {error}")
        schemas = {tool.function.name: tool.function.parameters for tool in asked.tools}
        speech = call_of_named_tool(asked.messages, schemas)
        speech = speech or next_speech(asked.model, asked.messages, list(schemas))
        stream = _SpokenStream(_chunks(asked, speech, len(body) // 4), self._pace)
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=stream)


class _Function(msgspec.Struct):
    name: str
    parameters: dict[str, Any] = {}


class _AskedTool(msgspec.Struct):
    function: _Function


class _StreamOptions(msgspec.Struct):
    include_usage: bool = False


class _Asked(msgspec.Struct):
    model: str
    messages: list[WireMessage]
    tools: list[_AskedTool] = []
    stream_options: _StreamOptions | None = None


class _SpokenStream(httpx.AsyncByteStream):
    """Sends events one by one and sleeps between them."""

    def __init__(self, chunks: Iterator[tuple[bytes, float]], pace: float) -> None:
        self._chunks = chunks
        self._pace = pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk, tokens in self._chunks:
            # even without a pace other tasks get their turn: a reader may want to hang up
            await asyncio.sleep(tokens / TOKENS_PER_SECOND * self._pace)
            yield chunk


def _chunks(asked: _Asked, speech: Speech, prompt_tokens: int) -> Iterator[tuple[bytes, float]]:
    """The events of one answer, each with the time before it, in tokens."""
    spoken = 0
    yield _event(asked, {"role": "assistant", "content": ""}), FIRST_TOKEN_SECONDS * TOKENS_PER_SECOND
    for key, text in (("reasoning_content", speech.reasoning), ("content", speech.text)):
        for token in _TOKEN.findall(text):
            spoken += 1
            yield _event(asked, {key: token}), _jitter(token, spoken)
    for index, call in enumerate(speech.calls):
        head = {"name": call.tool, "arguments": ""}
        identity = f"call_{zlib.crc32(f'{len(asked.messages)} {index}'.encode()):08x}"
        yield (
            _event(
                asked,
                {"tool_calls": [{"index": index, "id": identity, "type": "function", "function": head}]},
            ),
            1,
        )
        for piece in _TOKEN.findall(json.dumps(call.input, ensure_ascii=False)):
            spoken += 1
            delta = {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            yield _event(asked, delta), _jitter(piece, spoken) / 2
    yield _event(asked, {}, "tool_calls" if speech.calls else "stop"), 0
    if asked.stream_options is not None and asked.stream_options.include_usage:
        counted = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": spoken,
            "total_tokens": prompt_tokens + spoken,
        }
        yield (
            _sse({"object": "chat.completion.chunk", "model": asked.model, "choices": [], "usage": counted}),
            0,
        )
    yield b"data: [DONE]\n\n", 0


def _jitter(token: str, position: int) -> float:
    """Between half a token's time and one and a half, the same for the same token at the same place."""
    return 0.5 + zlib.crc32(f"{position}{token}".encode()) % 1000 / 1000


def _event(asked: _Asked, delta: Mapping[str, object], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _sse(
        {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "model": asked.model, "choices": [choice]}
    )


def _sse(payload: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


def _error(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message, "type": "demo"}})
