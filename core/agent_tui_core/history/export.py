"""Owns what a conversation looks like outside of the history file: Markdown to read, JSON lines for programs.

Refuses to hand on what could move a terminal or pass for something that happened: what was said stands in
quotes or fences that it cannot end.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agent_tui_core.blocks import ContentBlock, Image, JsonObject, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.errors import HistoryError
from agent_tui_core.event_json import event_to_json
from agent_tui_core.events import (
    Body,
    Event,
    MessageCommitted,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolJudged,
    ToolProposed,
)
from agent_tui_core.history.files import FILE_MODE, explain
from agent_tui_core.history.store import StoredConversation
from agent_tui_core.text import safe_line, safe_text

_FENCE = re.compile(r"`{3,}")


def json_lines(conversation: StoredConversation) -> Iterator[str]:
    """Yield each body as one line of JSON in ASCII, in the form that headless runs print."""
    for seq, (run_id, at, body) in enumerate(conversation.bodies, 1):
        event = Event(conversation.agent_id, run_id, seq, at, body)
        yield json.dumps(event_to_json(event), separators=(",", ":")) + "\n"


def markdown(conversation: StoredConversation) -> str:
    """Return the conversation as Markdown: what was said, each call with who decided, what came of it."""
    calls: dict[str, ToolUse] = {}
    parts = [f"# {_inline(conversation.name)}\n"]
    for _, at, body in conversation.bodies:
        if isinstance(body, ToolProposed):
            calls[body.key] = body.call
        parts += _body_parts(at, body, calls)
    return "\n".join(parts)


def save(path: Path, text: str) -> None:
    """Write an export that only its owner can read; HistoryError when that fails or the file exists."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError as error:
        raise HistoryError(f"{path}: this file exists and was left alone. Choose another name.") from error
    except OSError as error:
        raise explain(error, path) from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            os.fchmod(descriptor, FILE_MODE)
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise explain(error, path) from error


def _body_parts(at: float, body: Body, calls: dict[str, ToolUse]) -> list[str]:
    match body:
        case RunStarted():
            return [f"---\n\n*{_time(at)}*\n"]
        case MessageCommitted(message) if message.role != "tool":
            who = "You" if message.role == "user" else "Agent"
            said = [part for block in message.blocks for part in _block_parts(block)]
            return [f"## {who}\n", *said] if said else []
        case ToolProposed(_, call):
            return [f"### {_inline(call.name)}\n", _fenced(_pretty(call), "json")]
        case ToolJudged():
            return [_judgement(body, calls.get(body.key))]
        case ToolEnded(_, result, outcome, seconds):
            return [f"Result: **{outcome}**, {seconds:.1f} s\n", _fenced(result.content)]
        case RunEnded(end, reason) if end != "completed":
            return [f"*{end}{': ' + safe_line(reason) if reason else ''}*\n"]
        case _:
            return []


def _block_parts(block: ContentBlock) -> list[str]:
    match block:
        case Text(text):
            return [_quoted(text)] if text.strip() else []
        case Reasoning(text):
            return ["*Thought:*\n", _quoted(text)] if text.strip() else []
        case Image(url):
            return ["*(a picture)*\n" if url.startswith("data:") else f"*(a picture: {_inline(url)})*\n"]
        case ToolUse() | ToolResult():
            return []


def _judgement(body: ToolJudged, call: ToolUse | None) -> str:
    by = f"{'Allowed' if body.allowed else 'Denied'} by {body.by}"
    rule = f", rule {_inline(body.rule)}" if body.rule else ""
    reason = f": {safe_line(body.reason)}" if body.reason else ""
    line = f"{by}{rule}{reason}\n"
    if call is not None and body.allowed and body.input != call.input:
        return f"{line}\nIt ran with another input:\n\n{_fenced(_pretty_input(body.input), 'json')}"
    return line


def _pretty(call: ToolUse) -> str:
    return call.raw if call.broken is not None else _pretty_input(call.input)


def _pretty_input(input: JsonObject) -> str:
    return json.dumps(dict(input), indent=2, ensure_ascii=False)


def _fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    shown = safe_text(text)
    fence = "`" * max(3, *(len(found) + 1 for found in _FENCE.findall(shown)), 3)
    return f"{fence}{language}\n{shown.rstrip()}\n{fence}\n"


def _quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in safe_text(text).strip().split("\n"))


def _inline(text: str) -> str:
    """Foreign words as inline code: nothing in them is Markdown."""
    return f"`{safe_line(text).replace('`', chr(39))}`"


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
