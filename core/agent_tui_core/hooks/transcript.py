"""Owns the transcript files that hooks may read: one for each agent, private, gone with the session.

Refuses to be the history: it is a copy of the messages, in lines of JSON as other programs' hooks know them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from agent_tui_core.blocks import ContentBlock, Image, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.hooks.json_line import json_line
from agent_tui_core.hooks.payload import HookedAgent
from agent_tui_core.messages import Message, StopReason, Usage

_STOP_REASONS: Final[dict[StopReason, str]] = {
    "end": "end_turn",
    "tool_use": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
"""Ours by the names that hooks know; an answer that broke off has none."""


class Transcripts:
    """The files of one session."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._delete: weakref.finalize[..., Transcripts] | None = None
        """Also at the end of the program, and when nobody has this any more."""
        self._written: dict[str, list[str]] = {}
        """The ids of the messages that each file has."""

    def update(self, agent: HookedAgent, messages: Sequence[Message] | None) -> Path | None:
        """Bring an agent's file up to date and return it; None where nothing can be written.

        Without messages it stays as it is.
        """
        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="agent-tui-hooks-"))  # 0700
                self._delete = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            file = self._folder / f"{agent.id or 'agent'}.jsonl"
            had = self._written.get(agent.id, [])
            ids = had if messages is None else [message.id for message in messages]
            grown = ids[: len(had)] == had
            known = len(had) if grown else 0
            parents = [None, *ids][known:]
            new = zip((messages or ())[known:], parents, strict=False)
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            flags |= os.O_APPEND if grown else os.O_TRUNC
            with os.fdopen(os.open(file, flags, 0o600), "wb") as stream:
                for message, parent in new:
                    stream.write(json_line(_entry(message, parent, agent)))
            self._written[agent.id] = ids
        except OSError:
            return None
        return file

    def forget(self, agent_id: str) -> None:
        """Delete the file of an agent that is gone."""
        if self._written.pop(agent_id, None) is not None and self._folder is not None:
            with suppress(OSError):
                (self._folder / f"{agent_id or 'agent'}.jsonl").unlink(missing_ok=True)

    def close(self) -> None:
        """Delete them all."""
        if self._delete is not None:
            self._delete()
        self._folder = self._delete = None
        self._written.clear()


def _entry(message: Message, parent: str | None, agent: HookedAgent) -> dict[str, Any]:
    """A message as other programs' transcripts have it; `parent` is the id of the one before."""
    role = "assistant" if message.role == "assistant" else "user"
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": str(agent.workspace),
        "sessionId": agent.session_id,
        "type": role,
        "message": _answer(message, agent.model) if role == "assistant" else _said(message),
        "uuid": message.id,
        "timestamp": _now(),
    }


def _said(message: Message) -> dict[str, Any]:
    """A prompt of nothing but words is text there, not a list."""
    match message.blocks:
        case (Text(text),):
            return {"role": "user", "content": text}
    return {"role": "user", "content": _content(message)}


def _answer(message: Message, model: str) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": message.id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": _content(message),
        "stop_reason": _STOP_REASONS.get(message.stop_reason) if message.stop_reason else None,
    }
    return said if message.usage is None else {**said, "usage": _usage(message.usage)}


def _usage(usage: Usage) -> dict[str, int]:
    """There the tokens that came from the cache are not among those of the input."""
    cached = usage.cached_tokens or 0
    return {
        "input_tokens": max(0, (usage.input_tokens or 0) - cached),
        "cache_read_input_tokens": cached,
        "output_tokens": usage.output_tokens or 0,
    }


def _now() -> str:
    seconds = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{int(seconds % 1 * 1000):03d}Z"


def _content(message: Message) -> list[dict[str, Any]]:
    return [part for block in message.blocks for part in _parts(block)]


def _parts(block: ContentBlock) -> list[dict[str, Any]]:
    match block:
        case Text(text):
            return [{"type": "text", "text": text}]
        case Reasoning(text):
            return [{"type": "thinking", "thinking": text}] if text else []
        case ToolUse(id=call_id, name=name, input=input_):
            return [{"type": "tool_use", "id": call_id, "name": name, "input": input_}]
        case ToolResult(tool_use_id=call_id, content=content, is_error=is_error):
            result = {"type": "tool_result", "tool_use_id": call_id, "content": content}
            return [{**result, "is_error": is_error}]
        case Image():
            return [{"type": "text", "text": "[image]"}]
