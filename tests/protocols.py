"""Owns what a test says once and every protocol does in its way; refuses to know the bytes (`writers` does).

@over_protocols
async def test_it(speech: Speech) -> None:
    w = speech.writer()
    answer = Answer(w.text("Hel"), release, w.text("lo"), w.end())
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from agent_tui_core.blocks import Text
from agent_tui_core.errors import ProviderError
from agent_tui_core.events import StreamEvent, TextDelta
from agent_tui_core.messages import Message, ModelRequest, ToolSpec
from agent_tui_core.providers.anthropic import AnthropicProvider
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.providers.openai import OpenAIProvider
from agent_tui_core.providers.responses import ResponsesProvider
from agent_tui_core.wire import anthropic, openai, responses
from agent_tui_core.wire.accumulator import Accumulator
from agent_tui_core.wire.answer import AnswerStream
from agent_tui_core.wire.protocols import WireProtocol
from loopback import Answer, LoopbackServer
from request_rules import chat_rules, messages_rules, responses_rules
from writers import ChatWriter, MessagesWriter, ResponsesWriter, Writer

KEY = "sk-very-secret-0123456789"
ASK = ModelRequest("m", (Message("user", (Text("hi"),)),), tools=(ToolSpec("Bash", "", {"type": "object"}),))


@dataclass(frozen=True)
class Speech:
    """One protocol, as tests need it."""

    name: WireProtocol
    path: str
    writer: Callable[[], Writer]
    provider: Callable[..., ModelProvider]
    """Client, address, key."""
    stream: Callable[..., AnswerStream]
    body: Callable[[ModelRequest], dict[str, Any]]
    key_header: tuple[str, str]
    """Name, and what stands before the key."""
    rules: Callable[[dict[str, Any]], None]
    """Raises AssertionError for a request body that the API would refuse."""
    sealed: Callable[[dict[str, Any]], list[str]]
    """The seals in a request body, in order."""
    whole: Callable[[str], dict[str, Any]]
    """An answer of text in one document."""


def say(speech: Speech, words: str) -> Answer:
    """A whole answer of text."""
    w = speech.writer()
    return Answer(w.text(words), w.end())


def _chat_seals(body: dict[str, Any]) -> list[str]:
    details = [entry for message in body["messages"] for entry in message.get("reasoning_details", ())]
    return [entry["signature"] for entry in details]


def _whole_chat(words: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": words}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"object": "chat.completion", "choices": [choice]}


def _messages_seals(body: dict[str, Any]) -> list[str]:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [
        block.get("signature") or block["data"]
        for block in blocks
        if block["type"] in {"thinking", "redacted_thinking"}
    ]


def _whole_message(words: str) -> dict[str, Any]:
    content = [{"type": "text", "text": words}]
    usage = {"input_tokens": 3, "output_tokens": 2}
    return {
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "end_turn",
        "usage": usage,
    }


def _responses_seals(body: dict[str, Any]) -> list[str]:
    return [item["encrypted_content"] for item in body["input"] if item.get("type") == "reasoning"]


def _whole_response(words: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    output = [{"type": "message", "id": "msg_0", "role": "assistant", "content": content}]
    return {"object": "response", "status": "completed", "error": None, "output": output}


CHAT = Speech(
    "chat",
    "/v1/chat/completions",
    ChatWriter,
    OpenAIProvider,
    openai.ChatStream,
    openai.request_body,
    ("authorization", "Bearer "),
    chat_rules,
    _chat_seals,
    _whole_chat,
)
MESSAGES = Speech(
    "anthropic",
    "/v1/messages",
    MessagesWriter,
    AnthropicProvider,
    anthropic.MessagesStream,
    anthropic.request_body,
    ("x-api-key", ""),
    messages_rules,
    _messages_seals,
    _whole_message,
)
RESPONSES = Speech(
    "responses",
    "/v1/responses",
    ResponsesWriter,
    ResponsesProvider,
    responses.ResponsesStream,
    responses.request_body,
    ("authorization", "Bearer "),
    responses_rules,
    _responses_seals,
    _whole_response,
)
SPEECHES = (CHAT, MESSAGES, RESPONSES)

over_protocols = pytest.mark.parametrize("speech", SPEECHES, ids=[speech.name for speech in SPEECHES])


# --- asking over HTTP ---------------------------------------------------------------------------------------


async def collected(provider: ModelProvider, request: ModelRequest = ASK) -> list[StreamEvent]:
    async with asyncio.timeout(10), aclosing(provider.stream(request)) as events:
        return [event async for event in events]


async def answered(client: httpx.AsyncClient, speech: Speech, answer: Answer) -> list[StreamEvent]:
    async with LoopbackServer([answer]) as server:
        return await collected(speech.provider(client, server.base_url))


async def failure_of(
    client: httpx.AsyncClient, speech: Speech, answer: Answer, key: str | None = KEY
) -> ProviderError:
    async with LoopbackServer([answer]) as server:
        with pytest.raises(ProviderError) as caught:
            await collected(speech.provider(client, server.base_url, key))
    return caught.value


def words(events: Iterable[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def message(events: Iterable[StreamEvent]) -> Message:
    accumulator = Accumulator()
    for event in events:
        accumulator.add(event)
    built = accumulator.message()
    assert built is not None
    return built
