"""Owns where an answer's prose is: text, refusal and reasoning in a delta, and `<think>` tags in the text.

Refuses to show the same reasoning twice: of the fields that mirror each other, one per delta counts.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from agent_tui_core.blocks import Json, JsonObject
from agent_tui_core.messages import ThinkTags
from agent_tui_core.wire.surrogates import HalfKeeper

Piece: TypeAlias = tuple[Literal["text", "reasoning"], str]
Source: TypeAlias = Literal["reasoning_details", "reasoning_content", "reasoning"]

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


def prose(delta: JsonObject) -> list[Piece]:
    """Return what the `content` and the `refusal` of a delta say, in order."""
    content, refusal = delta.get("content"), delta.get("refusal")
    pieces: list[Piece] = []
    if isinstance(content, str):
        pieces.append(("text", content))
    elif isinstance(content, list):
        pieces.extend(piece for part in content for piece in _part(part))
    if isinstance(refusal, str):
        pieces.append(("text", refusal))
    return [piece for piece in pieces if piece[1]]


def reasoning(delta: JsonObject) -> tuple[str, Source | None]:
    """Return the reasoning in a delta and the field that it was taken from."""
    if details := reasoning_details(delta):
        text = "".join(_detail_text(detail) for detail in details)
        if text:
            return text, "reasoning_details"
    content, plain = delta.get("reasoning_content"), delta.get("reasoning")
    if isinstance(content, str) and content:
        return content, "reasoning_content"
    if isinstance(plain, str) and plain:
        return plain, "reasoning"
    return "", None


def reasoning_details(delta: JsonObject) -> list[JsonObject]:
    """Return the structured reasoning in a delta, which its provider wants back."""
    details = delta.get("reasoning_details")
    return [part for part in details if isinstance(part, dict)] if isinstance(details, list) else []


def _detail_text(detail: JsonObject) -> str:
    for key in ("text", "summary"):
        if isinstance(text := detail.get(key), str):
            return text
    return ""


def _part(part: Json) -> list[Piece]:
    """Read one part of a content list; Mistral's `thinking` parts hold a list of text parts."""
    if isinstance(part, str):
        return [("text", part)]
    if not isinstance(part, dict):
        return []
    thinking = part.get("thinking")
    if isinstance(thinking, str):
        return [("reasoning", thinking)]
    if isinstance(thinking, list):
        return [("reasoning", text) for inner in thinking for _, text in _part(inner)]
    text = part.get("text", part.get("refusal"))
    return [("text", text)] if isinstance(text, str) else []


class ThinkTagReader:
    """Splits text that may begin with `<think>…</think>`; only the very start counts, later tags are text.

    White space may stand before the tag. What could still become a tag waits: never more than its length.
    """

    def __init__(self, *, opened: bool = False) -> None:
        """`opened`: the answer begins within; a tag that opens it all the same is no part of it."""
        self._place: Literal["start", "inside", "after", "outside"] = "start"
        self._opened = opened
        self._held = ""

    @property
    def is_past(self) -> bool:
        """All that follows is text."""
        return self._place == "outside"

    def feed(self, text: str) -> list[Piece]:
        """Return what is settled now."""
        if self._place == "outside":
            return [("text", text)]
        pieces: list[Piece] = []
        text, self._held = self._held + text, ""
        if self._place == "start":
            begun = text.lstrip()
            if len(begun) < len(_OPEN) and _OPEN.startswith(begun):
                self._held = text
                return []
            if begun.startswith(_OPEN):
                self._place, text = "inside", begun[len(_OPEN) :]
            elif self._opened:
                self._place = "inside"
            else:
                self._place = "outside"
                return [("text", text)]
        if self._place == "inside":
            thought, closed, text = text.partition(_CLOSE)
            if not closed:
                kept = _overlap(thought, _CLOSE)
                thought, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
            else:
                self._place = "after"
            pieces.append(("reasoning", thought))
        if self._place == "after" and (text := text.lstrip()):
            self._place = "outside"
            pieces.append(("text", text))
        return [piece for piece in pieces if piece[1]]

    def close(self) -> list[Piece]:
        """Return what waited and was no tag."""
        held, self._held = self._held, ""
        inside = self._place == "inside" or (self._opened and self._place == "start" and held.strip())
        return [("reasoning" if inside else "text", held)] if held else []

    def told_apart(self) -> None:
        """The server sends reasoning in a field of its own: it left out no tag."""
        self._opened = False


class ProseKeeper:
    """Mends text and reasoning, each over its own pieces, and splits off `<think>` where that is wanted."""

    def __init__(self, *, think_tags: ThinkTags) -> None:
        self._halves = {"text": HalfKeeper(), "reasoning": HalfKeeper()}
        self._tags = ThinkTagReader(opened=think_tags == "open") if think_tags else None
        """None when no tag counts any more."""

    def feed(self, kind: Literal["text", "reasoning"], text: str) -> list[Piece]:
        """Return what is settled of this piece and of what waited."""
        text = self._halves[kind].feed(text)
        if self._tags is not None and text:
            return self._feed_tags(self._tags, kind, text)
        return [(kind, text)] if text else []

    def settle(self) -> list[Piece]:
        """Return what waits to become a tag: something follows that is no prose."""
        return [] if self._tags is None else self._tags.close()

    def _feed_tags(self, tags: ThinkTagReader, kind: Literal["text", "reasoning"], text: str) -> list[Piece]:
        if kind == "reasoning":
            tags.told_apart()
            return [(kind, text)]
        pieces = tags.feed(text)
        if tags.is_past:
            self._tags = None
        return pieces

    def close(self) -> list[Piece]:
        """Return the rest."""
        pieces: list[Piece] = [("reasoning", self._halves["reasoning"].close())]
        last = self._halves["text"].close()
        if self._tags is not None:
            pieces += [*(self._tags.feed(last) if last else ()), *self._tags.close()]
        else:
            pieces.append(("text", last))
        return [piece for piece in pieces if piece[1]]


def _overlap(text: str, tag: str) -> int:
    """How much of the end of `text` is the beginning of `tag`."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
