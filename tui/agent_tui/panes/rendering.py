"""Owns the drawing of one Markdown block as lines; refuses HTML, pictures and links that can be opened."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from rich.cells import cell_len

from agent_tui.panes.code import code_lines
from agent_tui.panes.lines import BLANK, Line, Segment, printable, wrap, wrap_text
from agent_tui.panes.markdown_blocks import Block
from agent_tui.panes.tables import table_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_WORDS = r"[^\W_](?:[^\W_]|[ ,.;:?!'\"()/%$@=+–—’“”…-])*(?<! )"
_PLAIN = re.compile(rf"{_WORDS}(?:\n{_WORDS})*")
_PLAIN_ITEM = re.compile(rf"([-+*]|\d{{1,9}}[.)]) (?!\d)({_WORDS})")
_BULLETS = ("•", "◦", "▪")
_MOST_BRACKETS = 300
"""A parser tries every bracket with every other; more of them than this is no prose."""
_DEEPEST = 16
"""The parser leaves out what is nested deeper than 20; such a block is shown as it was written."""


def block_lines(block: Block, width: int, style: str = "text", *, colored: bool = True) -> list[Line]:
    """Draw one block for a width; `colored` asks for the colours of code."""
    width = max(4, width)
    if block.kind == "code":
        return code_lines(block.source, block.language, width, colored=colored, starts=block.starts)
    if block.kind == "plain" or block.source.count("[") > _MOST_BRACKETS:
        return wrap_text(block.source, style, width)
    if (plain := _plain_lines(block, width, style)) is not None:
        return plain
    try:
        tokens = _parser().parse(block.source)
        if max((token.level for token in tokens), default=0) < _DEEPEST:
            return _Drawing(block, width, style, colored).draw(tokens)
    except Exception:  # a bug in the parser must not end the pane
        logging.getLogger(__name__).exception("A block could not be drawn as Markdown")
    return wrap_text(block.source, style, width)


def _plain_lines(block: Block, width: int, style: str) -> list[Line] | None:
    """What the parser would make of words without any markup, for a fifth of the cost; None for all else."""
    source = block.source.rstrip(" ")
    if block.kind == "markdown" and _PLAIN.fullmatch(source):
        return wrap([(source.replace("\n", " "), style)], width)
    if block.kind == "item" and (item := _PLAIN_ITEM.fullmatch(source)):
        ordered = item[1][-1] in ".)"
        if ordered and block.number is None:
            return None
        mark = f"{block.number}. " if ordered else f"{_BULLETS[0]} "
        lead: tuple[Segment, ...] = ((mark, "bullet"),)
        rest: tuple[Segment, ...] = ((" " * len(mark), "margin"),)
        return wrap([(item[2], style)], width, first=lead, rest=rest)
    return None


def warm_up() -> None:
    """Import and build the parser; for a thread after the first frame."""
    _parser()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False})
    return parser.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])


@dataclass(frozen=True)
class _Place:
    """Where in the nesting a token is drawn: what stands left of its first and its other rows."""

    first: tuple[Segment, ...] = ()
    rest: tuple[Segment, ...] = ()
    style: str = "text"
    depth: int = 0


class _Drawing:
    """One pass over the tokens of a block."""

    def __init__(self, block: Block, width: int, style: str, colored: bool) -> None:
        self.width = width
        self.colored = colored
        self.number = block.number
        self.source = block.source.split("\n")
        self.place = _Place(style=style)
        self.lines: list[Line] = []
        self.quiet = True
        """Nothing was drawn yet at this level, so no blank row is due."""

    def draw(self, tokens: list[Token]) -> list[Line]:
        self._blocks(tokens, 0, len(tokens))
        return self.lines

    def _blocks(self, tokens: list[Token], index: int, end: int) -> None:
        while index < end:
            token = tokens[index]
            stop = _closing(tokens, index)
            match token.type:
                case "paragraph_open":
                    self._gap(token)
                    self._put(wrap(inline_segments(tokens[index + 1], self.place.style), self._room))
                case "heading_open":
                    self._heading(token, tokens[index + 1])
                case "bullet_list_open" | "ordered_list_open":
                    self._list(tokens, index, stop)
                case "blockquote_open":
                    self._quote(tokens, index, stop)
                case "fence" | "code_block":
                    self._code(token)
                case "table_open":
                    self._gap(token)
                    self._table(tokens[index : stop + 1])
                case "hr":
                    self._gap(token)
                    self._put([Line((("─" * self._room, "rule"),))])
                case _:
                    self._unknown(token)
            index = stop + 1

    @property
    def _room(self) -> int:
        return max(1, self.width - sum(cell_len(text) for text, _ in self.place.rest))

    def _gap(self, token: Token, *, always: bool = False) -> None:
        """Leave a blank row where the source has one before this token."""
        line = token.map[0] - 1 if token.map else -1
        apart = 0 <= line < len(self.source) and not self.source[line].strip(" >")
        if (apart or always) and not self.quiet:
            self.lines.append(Line(self.place.rest) if self.place.rest else BLANK)
        self.quiet = False

    def _put(self, lines: list[Line]) -> None:
        """Add rows that were drawn for the room that is left, behind what stands left of them."""
        for line in lines:
            self.lines.append(replace_lead(line, self._lead()))

    def _lead(self) -> tuple[Segment, ...]:
        lead, self.place = self.place.first, replace(self.place, first=self.place.rest)
        return lead

    def _heading(self, token: Token, inline: Token) -> None:
        self._gap(token, always=True)
        level = int(token.tag[1:])
        style = f"{self.place.style} heading" + (" em" if level > 3 else "")
        self._put(wrap(inline_segments(inline, style), self._room))
        if level == 1 and self.lines and not self.place.rest:
            widest = max((cell_len(line.text) for line in self.lines), default=1)
            self._put([Line((("━" * min(widest, self._room), "heading"),))])
        self.quiet = True

    def _quote(self, tokens: list[Token], index: int, stop: int) -> None:
        self._gap(tokens[index])
        outer = self.place
        bar: Segment = ("▎ ", "quote-bar")
        self.place = _Place((*outer.first, bar), (*outer.rest, bar), f"{outer.style} quote", outer.depth)
        self.quiet = True
        self._blocks(tokens, index + 1, stop)
        self.place, self.quiet = replace(outer, first=outer.rest), False

    def _list(self, tokens: list[Token], index: int, stop: int) -> None:
        ordered = tokens[index].type == "ordered_list_open"
        number = int(tokens[index].attrGet("start") or 1)
        if ordered and self.number is not None and self.place.depth == 0:
            number, self.number = self.number, None
        self._gap(tokens[index])
        outer, index = self.place, index + 1
        while index < stop:
            after = _closing(tokens, index)
            mark = f"{number}. " if ordered else f"{_BULLETS[min(outer.depth, 2)]} "
            if task := _task(tokens[index + 1 : after]):
                mark = task if not ordered else mark + task
            first = (*self.place.first, (mark, "bullet"))
            rest = (*outer.rest, (" " * cell_len(mark), "margin"))
            self.place = _Place(first, rest, outer.style, outer.depth + 1)
            self.quiet = True
            self._blocks(tokens, index + 1, after)
            if self.place.first is first:
                self._put([Line(())])
            self.place, self.quiet = replace(outer, first=outer.rest), False
            number, index = number + 1, after + 1
            if index < stop:
                self._gap(tokens[index])

    def _code(self, token: Token) -> None:
        self._gap(token)
        language = (token.info.split() or [""])[0].strip("{}.")[:24]
        source = token.content.removesuffix("\n")
        self._put(code_lines(source, language, self._room, colored=self.colored))

    def _table(self, tokens: list[Token]) -> None:
        rows: list[list[list[Segment]]] = []
        aligns: list[str] = []
        for position, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                style = self.place.style + (" strong" if token.type == "th_open" else "")
                rows[-1].append(inline_segments(tokens[position + 1], style))
                if len(rows) == 1:
                    aligns.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
        self._put(table_lines(rows, aligns, self._room))

    def _unknown(self, token: Token) -> None:
        if token.content:
            self._gap(token)
            self._put(wrap_text(printable_rows(token.content), self.place.style, self._room))


def replace_lead(line: Line, lead: tuple[Segment, ...]) -> Line:
    """Return the line with something left of it."""
    return Line(lead + line.segments, line.fill, line.join) if lead else line


def printable_rows(text: str) -> str:
    """Return text of several rows without control characters."""
    return "\n".join(printable(row) for row in text.split("\n"))


def inline_segments(inline: Token, style: str) -> list[Segment]:  # noqa: C901 - one flat table of token types
    """Return what is inside a paragraph, heading or cell as styled text; LF is a forced break."""
    segments: list[Segment] = []
    styles = [style]
    links: list[tuple[str, int]] = []
    for token in inline.children or []:
        match token.type:
            case "text":
                segments.append((printable(token.content), styles[-1]))
            case "code_inline":
                segments.append((printable(token.content), f"{styles[-1]} inline-code"))
            case "softbreak":
                segments.append((" ", styles[-1]))
            case "hardbreak":
                segments.append(("\n", styles[-1]))
            case "strong_open":
                styles.append(f"{styles[-1]} strong")
            case "em_open":
                styles.append(f"{styles[-1]} em")
            case "s_open":
                styles.append(f"{styles[-1]} strike")
            case "link_open":
                links.append((printable(str(token.attrGet("href") or "")), len(segments)))
                styles.append(f"{styles[-1]} link")
            case "link_close":
                styles.pop()
                href, start = links.pop()
                if href and _differs(href, "".join(text for text, _ in segments[start:])):
                    segments.append((f" ({href})", f"{styles[-1]} target"))
            case "image":
                segments.append(
                    (f"[picture: {printable(token.content) or 'no words'}]", f"{styles[-1]} link")
                )
                segments.append((f" ({printable(str(token.attrGet('src') or ''))})", f"{styles[-1]} target"))
            case _ if token.type.endswith("_close"):
                styles.pop()
            case _:
                segments.append((printable(token.content), styles[-1]))
    return segments


def _differs(href: str, text: str) -> bool:
    return href not in {text, f"mailto:{text}"} and href.rstrip("/") != text.rstrip("/")


def _closing(tokens: list[Token], index: int) -> int:
    """The index of the token that closes the one at `index` (itself when it opens nothing)."""
    if tokens[index].nesting != 1:
        return index
    level = tokens[index].level
    for position in range(index + 1, len(tokens)):
        if tokens[position].nesting == -1 and tokens[position].level == level:
            return position
    return len(tokens) - 1


def _task(tokens: list[Token]) -> str | None:
    """Take the box off the first words of an item; return the box to draw."""
    inline = next((token for token in tokens[:2] if token.type == "inline"), None)
    first = inline.children[0] if inline is not None and inline.children else None
    if first is None or first.type != "text" or first.content[:4] not in {"[ ] ", "[x] ", "[X] "}:
        return None
    box = "☐ " if first.content[1] == " " else "☑ "
    first.content = first.content[4:]
    return box
