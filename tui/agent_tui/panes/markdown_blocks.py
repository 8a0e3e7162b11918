"""Owns the cutting of streamed text into Markdown blocks, however it is sliced; refuses to draw them.

A block is closed as soon as no later line can change it, and never grows past a bound, so that drawing what
is new costs the same at the first character and at the millionth.
"""

from __future__ import annotations

import re
from copy import copy
from typing import Literal

from agent_tui.panes.lines import clean_text
from agent_tui_core.records import dataclass

LINE_LIMIT = 8_000
"""Characters of one line; what is longer is cut, at a space where there is one."""
BLOCK_LIMIT = 8_000
"""Characters of a block that is parsed as Markdown; a larger one is shown as it was written."""
BLOCK_LINES = 300

_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})([^\n]*)$")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?: |$)")
_RULE = re.compile(r"^ {0,3}([-*_])(?: *\1){2,} *$")
_UNDERLINE = re.compile(r"^ {0,3}-+ *$")
_QUOTE = re.compile(r"^ {0,3}>")
_ITEM = re.compile(r"^( {0,3})([-+*]|(\d{1,9})[.)])( +|$)(.*)$")
_LINE_END = re.compile(r"\r\n?|\n")
_OPEN_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,64}|[ -/]*)$")

BlockKind = Literal["markdown", "heading", "item", "code", "plain"]


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of text that is drawn alone."""

    kind: BlockKind
    source: str
    gap: bool = True
    """A blank row stands before it."""
    number: int | None = None
    """The number of an item of an ordered list."""
    language: str = ""
    starts: bool = True
    """False for the further parts of code that was cut at the bound."""


class LineFeed:
    """Pieces in, whole clean lines out; LF, CR LF and CR end a line."""

    def __init__(self) -> None:
        self._raw = ""

    def feed(self, piece: str) -> list[str]:
        """Take a piece; return the lines that it completed."""
        text = self._raw + piece
        lines: list[str] = []
        start = 0
        for match in _LINE_END.finditer(text):
            if match.end() == len(text) and match.group() == "\r":
                break  # the LF of this CR may still come
            start = self._cut(text, start, match.start(), lines)
            lines.append(clean_text(text[start : match.start()]))
            start = match.end()
        held = text.endswith("\r")
        start = self._cut(text, start, len(text) - held, lines)
        self._raw = text[start:]
        return lines

    @property
    def partial(self) -> str:
        """The line that is not ended yet, without an escape sequence that is not whole yet."""
        return clean_text(_OPEN_ESCAPE.sub("", self._raw.removesuffix("\r")))

    def close(self) -> list[str]:
        """End the input; return the last line, if there is one."""
        rest, self._raw = self._raw, ""
        line = clean_text(rest.removesuffix("\r"))
        return [line] if line or rest.endswith("\r") else []

    def _cut(self, text: str, start: int, end: int, lines: list[str]) -> int:
        while end - start > LINE_LIMIT:
            space = text.rfind(" ", start + LINE_LIMIT // 2, start + LINE_LIMIT)
            stop = start + LINE_LIMIT if space < 0 else space + 1
            lines.append(clean_text(text[start:stop]))
            start = stop
        return start


class BlockSplitter:
    """Pieces of Markdown in, closed blocks out; `tail` is what is still open."""

    def __init__(self, *, plain: bool = False) -> None:
        self._feed = LineFeed()
        self._machine = _Machine(plain)

    def feed(self, piece: str) -> list[Block]:
        """Take a piece; return the blocks that it closed."""
        for line in self._feed.feed(piece):
            self._machine.take(line)
        return self._machine.emitted()

    def close(self) -> list[Block]:
        """End the input; return what was open."""
        for line in self._feed.close():
            self._machine.take(line)
        self._machine.finish()
        return self._machine.emitted()

    @property
    def tail(self) -> list[Block]:
        """The open blocks (often one, two while a line is unfinished), as if the text ended here."""
        machine = copy(self._machine)
        machine.lines = self._machine.lines.copy()
        machine.out = []
        if partial := self._feed.partial:
            machine.take(partial)
        machine.finish()
        return machine.out


def split_blocks(text: str, *, plain: bool = False) -> list[Block]:
    """Return the blocks of a whole text."""
    splitter = BlockSplitter(plain=plain)
    return splitter.feed(text) + splitter.close()


class _Machine:
    """The state between two lines: which block is open, and what could still belong to it."""

    def __init__(self, plain: bool) -> None:
        self.plain = plain
        self.out: list[Block] = []
        self.lines: list[str] = []
        self.size = 0
        self.state: Literal["start", "paragraph", "quote", "item", "fence"] = "start"
        self.blank = False
        self.previous: BlockKind | None = None
        self.fence = ""
        self.fence_indent = 0
        self.language = ""
        self.starts = True
        self.indent = 0
        self.number: int | None = None
        self.marker = ""
        self.inner_fence = ""

    def emitted(self) -> list[Block]:
        out, self.out = self.out, []
        return out

    def take(self, line: str) -> None:
        match self.state:
            case "fence":
                self._take_code(line)
            case "item" if self._belongs_to_item(line):
                self._append(line)
            case _ if not line.strip(" "):
                self.finish()
                self.blank = self.starts = True
            case "paragraph" | "quote" if self.plain or not _interrupts(line, self.state):
                self._append(line)
            case _:
                self.finish()
                self._begin(line)

    def finish(self) -> None:
        """Close what is open."""
        state, self.state = self.state, "start"
        if state == "fence":
            self._emit("code")
            self.starts, self.language = True, ""
        elif state == "item":
            trailing = bool(self.lines) and not self.lines[-1].strip(" ")
            self._emit("item", self.number)
            self.blank = trailing
        elif state != "start":
            self._emit("plain" if self.plain else "markdown")

    def _begin(self, line: str) -> None:
        if self.plain:
            self.state = "paragraph"
            self._append(line)
        elif fence := _opens_fence(line):
            self.state, self.fence, self.fence_indent = "fence", fence.group(2), len(fence.group(1))
            self.language = (fence.group(3).split() or [""])[0].strip("{}.")[:24]
        elif _HEADING.match(line):
            self.lines.append(line)
            self._emit("heading")
        elif _RULE.match(line):
            self.lines.append(line)
            self._emit("markdown")
        elif item := _ITEM.match(line):
            self._begin_item(line, item)
        else:
            self.state = "quote" if _QUOTE.match(line) else "paragraph"
            self._append(line)

    def _begin_item(self, line: str, item: re.Match[str]) -> None:
        lead, marker, number, spaces, content = item.groups()
        follows = self.previous == "item" and marker[-1] == self.marker[-1:] and self.number is not None
        if number is None:
            self.number = None
        else:
            self.number = self.number + 1 if follows and self.number is not None else int(number)
        self.state, self.marker = "item", marker
        self.indent = len(lead) + len(marker) + (len(spaces) if 1 <= len(spaces) <= 4 and content else 1)
        opened = _opens_fence(content)
        self.inner_fence = opened.group(2) if opened else ""
        self._append(line)

    def _belongs_to_item(self, line: str) -> bool:
        content = line.lstrip(" ")
        if not content:
            return True
        if len(line) - len(content) >= self.indent:
            if self.inner_fence:
                if _closes_fence(content, self.inner_fence):
                    self.inner_fence = ""
            elif fence := _opens_fence(content):
                self.inner_fence = fence.group(2)
            return True
        after_blank = bool(self.lines) and not self.lines[-1].strip(" ")
        return not (self.inner_fence or after_blank or _ITEM.match(line) or _interrupts(line, "item"))

    def _take_code(self, line: str) -> None:
        if _closes_fence(line, self.fence):
            self.finish()
            return
        lead = min(self.fence_indent, len(line) - len(line.lstrip(" ")))
        self._append(line[lead:])

    def _append(self, line: str) -> None:
        self.lines.append(line)
        self.size += len(line) + 1
        if self.size > BLOCK_LIMIT or len(self.lines) >= BLOCK_LINES:
            if self.state == "fence":
                self._emit("code")
                self.starts = False
            else:
                self.state = "start"
                self._emit("plain")
                self.starts = False

    def _emit(self, kind: BlockKind, number: int | None = None) -> None:
        lines, self.lines, self.size = self.lines, [], 0
        if kind != "code":
            while lines and not lines[-1].strip(" "):
                lines.pop()
        gap = self.starts and self.previous not in {None, "heading"} and (self.blank or kind == "heading")
        self.out.append(Block(kind, "\n".join(lines), gap, number, self.language, self.starts))
        self.previous, self.blank = kind, False
        if kind != "code":
            self.starts = True


def _opens_fence(line: str) -> re.Match[str] | None:
    match = _FENCE.match(line)
    return None if match is None or (match.group(2)[0] == "`" and "`" in match.group(3)) else match


def _closes_fence(line: str, fence: str) -> bool:
    content = line.strip(" ")
    return len(content) >= len(fence) and not content.strip(fence[0]) and line[:4] != "    "


def _interrupts(line: str, state: str) -> bool:
    """Whether a line begins a block of its own although the paragraph before it is not ended."""
    if _HEADING.match(line) or _opens_fence(line):
        return True
    if _RULE.match(line):
        return state != "paragraph" or not _UNDERLINE.match(line)
    if _QUOTE.match(line):
        return state != "quote"
    item = _ITEM.match(line)
    return item is not None and bool(item.group(5)) and item.group(3) in {None, "1"}
