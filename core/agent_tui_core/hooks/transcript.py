"""Owns the transcript files that hooks may read: one for each agent, private, gone with the session.

Refuses to be the history: it is a copy of the messages, in lines of JSON as other programs' hooks know them.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent_tui_core.blocks import ContentBlock, Image, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.messages import Message


class Transcripts:
    """The files of one session."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._delete: weakref.finalize[..., Transcripts] | None = None
        """Also at the end of the program, and when nobody has this any more."""
        self._written: dict[str, list[str]] = {}
        """The ids of the messages that each file has."""

    def update(self, agent_id: str, session_id: str, messages: Sequence[Message] | None) -> Path | None:
        """Bring an agent's file up to date and return it; None where nothing can be written.

        Without messages it stays as it is.
        """
        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="agent-tui-hooks-"))  # 0700
                self._delete = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            file = self._folder / f"{agent_id or 'agent'}.jsonl"
            had = self._written.get(agent_id, [])
            ids = had if messages is None else [message.id for message in messages]
            grown = ids[: len(had)] == had
            new = (messages or ())[len(had) if grown else 0 :]
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            flags |= os.O_APPEND if grown else os.O_TRUNC
            with os.fdopen(os.open(file, flags, 0o600), "wb") as stream:
                for message in new:
                    stream.write(json.dumps(_line(message, session_id), default=str).encode() + b"\n")
            self._written[agent_id] = ids
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


def _line(message: Message, session_id: str) -> dict[str, Any]:
    role = "assistant" if message.role == "assistant" else "user"
    content = [part for block in message.blocks for part in _parts(block)]
    said: dict[str, Any] = {"role": role, "content": content}
    if message.stop_reason is not None:
        said["stop_reason"] = message.stop_reason
    return {"type": role, "uuid": message.id, "sessionId": session_id, "message": said}


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
