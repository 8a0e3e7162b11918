"""Owns how much of a conversation fits: its size in tokens, where it may be cut, what was said as plain text.

Refuses to ask a model. A cut never separates a call from its result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from agent_tui_core.blocks import ContentBlock, Image, Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.messages import Message, Usage

CHARACTERS_PER_TOKEN = 4
"""A guess that holds for English and code; it is used only where the provider counted nothing."""
_IMAGE_TOKENS = 1_000
_MESSAGE_TOKENS = 4
_RESULT_SHOWN = 2_000


def estimate(messages: Sequence[Message]) -> int:
    """Guess the tokens of these messages."""
    return sum(_MESSAGE_TOKENS + sum(map(_block_tokens, message.blocks)) for message in messages)


def estimate_tokens(what: str | Message | Iterable[Message]) -> int:
    """Guess the tokens of a text, a message or several: a quarter of the characters, and 1,000 for a picture.

    A provider's own count is in `Message.usage` of its answers, and in `Client.context_tokens`.
    """
    if isinstance(what, str):
        return -(-len(what) // CHARACTERS_PER_TOKEN)
    return estimate([what] if isinstance(what, Message) else list(what))


def counted(usage: Usage | None) -> int | None:
    """The tokens of a conversation right after an answer, as its provider counted them, if it did."""
    if usage is None or usage.input_tokens is None:
        return None
    return usage.input_tokens + (usage.output_tokens or 0)


def first_kept(messages: Sequence[Message], keep: int) -> int:
    """The index from which about `keep` tokens stay as they are; what is before it can be summarised.

    0 when nothing can be: a tool message stays with the answer that called, and the last message stays.
    """
    kept = 0
    index = len(messages)
    while index > 0:
        kept += estimate(messages[index - 1 : index])
        if kept > keep and index < len(messages):
            break
        index -= 1
    while index < len(messages) and messages[index].role == "tool":
        index += 1
    return index if index < len(messages) else _last_start(messages)


def first_kept_turn(messages: Sequence[Message], index: int) -> int:
    """The same, moved on to the next prompt where there is one: whole turns are left out."""
    return next((i for i in range(index, len(messages)) if messages[i].role == "user"), index)


def as_text(messages: Sequence[Message], limit: int) -> str:
    """The messages as one text of about `limit` characters at most; what is left out is said."""
    text = "\n\n".join(_message_text(message) for message in messages)
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n\n[… {len(text) - 2 * half:,} characters left out …]\n\n{text[-half:]}"


def _last_start(messages: Sequence[Message]) -> int:
    """The last message that may begin a conversation's rest."""
    return max((i for i, message in enumerate(messages) if message.role != "tool"), default=0)


def _block_tokens(block: ContentBlock) -> int:
    match block:
        case Text(text) | Reasoning(text):
            return len(text) // CHARACTERS_PER_TOKEN
        case ToolUse(name=name, input=input_):
            return (len(name) + len(json.dumps(input_, default=str))) // CHARACTERS_PER_TOKEN
        case ToolResult(content=content, images=images):
            return len(content) // CHARACTERS_PER_TOKEN + len(images) * _IMAGE_TOKENS
        case Image():
            return _IMAGE_TOKENS


def _message_text(message: Message) -> str:
    return "\n".join([f"## {message.role}", *(_block_text(block) for block in message.blocks)])


def _block_text(block: ContentBlock) -> str:
    match block:
        case Text(text):
            return text
        case Reasoning():
            return ""
        case ToolUse(name=name, input=input_):
            return f"[calls {name}: {json.dumps(input_, ensure_ascii=False, default=str)[:_RESULT_SHOWN]}]"
        case ToolResult(content=content, is_error=is_error):
            kind = "error" if is_error else "result"
            cut = " …" if len(content) > _RESULT_SHOWN else ""
            return f"[{kind}: {content[:_RESULT_SHOWN]}{cut}]"
        case Image():
            return "[an image]"
