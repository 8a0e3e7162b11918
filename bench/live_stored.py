"""Owns the look at what a soak left on disk: the database whole, each turn once and in order, a quiet log.

Refuses to repair. Each complaint is a sentence; no complaint means that it held.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from live_model import TURN

from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.blocks import Text
from agent_tui_core.events import Body, MessageCommitted, RunEnded, RunStarted, ToolEnded, ToolProposed
from agent_tui_core.history.store import History, StoredConversation
from agent_tui_core.messages import Message
from agent_tui_core.runtime.session import HISTORY_FILE
from agent_tui_core.wire.openai import message_params
from strict_validator import check_messages

MOST_TOLD = 5


def look(folder: Path, session_id: str) -> tuple[list[str], str]:
    """What is wrong, and in words how much was looked at."""
    wrong = [*_integrity(folder / "data" / HISTORY_FILE), *_errors_in_log(folder / "data"), *_left(folder)]
    stored = asyncio.run(_load(folder / "data" / HISTORY_FILE, session_id))
    turns: dict[str, set[int]] = {}
    messages = 0
    for conversation in stored:
        wrong += _complaints(conversation, turns)
        messages += sum(isinstance(body, MessageCommitted) for _, _, body in conversation.bodies)
    with (folder / "acknowledged").open() as lines:
        lost = [(name, turn) for name, turn in map(json.loads, lines) if turn not in turns.get(name, set())]
    wrong += [f"turn {turn} of {name} ended well and is not in history" for name, turn in lost]
    told = wrong[:MOST_TOLD] + ([f"and {len(wrong) - MOST_TOLD} more"] if len(wrong) > MOST_TOLD else [])
    return told, f"{messages:,} messages of {len(stored)} conversations in order"


def _integrity(file: Path) -> Iterator[str]:
    database = sqlite3.connect(file)
    try:
        for pragma, good in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
            if (found := database.execute(f"PRAGMA {pragma}").fetchall()) != good:
                yield f"the database says at {pragma}: {found[:3]}"
    finally:
        database.close()


def _errors_in_log(folder: Path) -> Iterator[str]:
    for file in folder.glob("*.log*"):
        for line in file.read_text().splitlines():
            if " ERROR " in line or " CRITICAL " in line or "never retrieved" in line or "Warning:" in line:
                yield f"the log says: {line[:300]}"


def _left(folder: Path) -> Iterator[str]:
    """Processes that work in the folder still: nothing but ours ever did."""
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            place = Path(os.readlink(f"/proc/{name}/cwd"))
            words = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if place.is_relative_to(folder):
            yield f"process {name} was left: {words[:100]}"


async def _load(file: Path, session_id: str) -> tuple[StoredConversation, ...]:
    history = await History.open(file)
    try:
        return (await history.load(session_id)).conversations
    finally:
        await history.close()


def _complaints(conversation: StoredConversation, turns: dict[str, set[int]]) -> Iterator[str]:
    bodies = [body for _, _, body in conversation.bodies]
    messages = [body.message for body in bodies if isinstance(body, MessageCommitted)]
    where = f"conversation {conversation.position} ({conversation.name})"
    if len({message.id for message in messages}) != len(messages):
        yield f"{where}: a message is there twice"
    yield from (f"{where}: {words}" for words in _ends(bodies))
    yield from (f"{where}: {words}" for words in _order(messages, turns))
    sent = [part for each in Conversation(messages).for_request() for part in message_params(each)]
    sent += message_params(Message("user", (Text("And now?"),)))
    if len(sent) > 1:
        try:
            check_messages(sent)
        except AssertionError as error:
            yield f"{where}: a provider would refuse it: {error}"


def _ends(bodies: list[Body]) -> Iterator[str]:
    """Each run and each call ends exactly once."""
    begun = Counter(body.key for body in bodies if isinstance(body, ToolProposed))
    ended = Counter(body.key for body in bodies if isinstance(body, ToolEnded))
    if begun != ended:
        yield f"calls without one end each: {list((begun - ended) + (ended - begun))[:3]}"
    runs = sum(isinstance(body, RunStarted) for body in bodies)
    ends = sum(isinstance(body, RunEnded) for body in bodies)
    if runs != ends:
        yield f"{runs} runs began and {ends} ended"


def _order(messages: list[Message], turns: dict[str, set[int]]) -> Iterator[str]:
    """Prompts come in their order, and each answer that names a turn follows that prompt."""
    now: tuple[str, int] | None = None
    for message in messages:
        found = TURN.search(message.text)
        if found is None or message.role == "tool":
            continue
        said = (found[1], int(found[2]))
        if message.role == "user":
            if now is not None and (said[0] != now[0] or said[1] <= now[1]):
                yield f"turn {said} came after {now}"
            now = said
            turns.setdefault(said[0], set()).add(said[1])
        elif said != now:
            yield f"the answer to {said} stands behind the prompt {now}"
