"""Owns the names of the protocols that providers speak; refuses to know how they sound."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

WireProtocol: TypeAlias = Literal["chat", "anthropic", "responses"]
"""OpenAI's chat completions, Anthropic's Messages, OpenAI's Responses."""
PROTOCOLS: Final[tuple[WireProtocol, ...]] = ("chat", "anthropic", "responses")
