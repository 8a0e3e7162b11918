"""Owns the way of a prompt to a user message, past the UserPromptSubmit hooks; refuses an empty one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from agent_tui_core.blocks import Image, Text
from agent_tui_core.errors import PromptBlocked
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.points import UserPromptSubmitEvent
from agent_tui_core.messages import Message

Prompt: TypeAlias = str | Sequence[Text | Image]
"""Words, or words and images in their order."""


def prompt_blocks(prompt: Prompt) -> tuple[Text | Image, ...]:
    """The prompt as blocks; TypeError for what is neither words nor a picture."""
    blocks = (Text(prompt),) if isinstance(prompt, str) else tuple(prompt)
    for block in blocks:
        if not isinstance(block, Text | Image):
            raise TypeError(f"a prompt is a str, or Text and Image blocks, not {type(block).__name__}")
    return blocks


def words_of(blocks: Sequence[Text | Image]) -> str:
    """The words among these blocks."""
    return "".join(block.text for block in blocks if isinstance(block, Text))


def with_words(blocks: Sequence[Text | Image], words: str) -> tuple[Text | Image, ...]:
    """The same with other words: they stand before the pictures."""
    pictures = tuple(block for block in blocks if isinstance(block, Image))
    return (Text(words), *pictures) if words.strip() or not pictures else pictures


async def user_message(prompt: Prompt, hooks: Hooks, history: tuple[Message, ...], agent_id: str) -> Message:
    """Make the message. Raises `PromptBlocked` when a hook refuses it, ValueError when it is empty.

    Words that a hook rewrote stand before the images; what hooks add stands at the end.
    """
    blocks = prompt_blocks(prompt)
    text = words_of(blocks)
    images = any(isinstance(block, Image) for block in blocks)
    if not text.strip() and not images:
        raise ValueError("the prompt is empty")
    verdict = await hooks.on_prompt(UserPromptSubmitEvent(text, history, agent_id))
    if verdict.blocked is not None:
        raise PromptBlocked(verdict.blocked)
    if verdict.prompt != text:
        blocks = with_words(blocks, verdict.prompt)
    if not verdict.prompt.strip() and not images:
        raise PromptBlocked("a hook left nothing of the prompt")
    return Message("user", (*blocks, *(Text(context) for context in verdict.context)))
