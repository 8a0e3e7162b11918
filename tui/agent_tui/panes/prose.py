"""Owns the model's text and reasoning as units that grow while they stream.

Refuses to parse a closed block again, and to parse an open one of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from agent_tui.panes.lines import Line, wrap_text
from agent_tui.panes.markdown_blocks import Block, BlockSplitter
from agent_tui.panes.rendering import block_lines
from agent_tui.panes.units import Unit
from agent_tui_core.runtime.entries import ProseEntry

TAIL_LIMIT = 4_000
"""Characters of an open block that is parsed anew on every frame; a longer one is plain until it closes."""
READ_AT_ONCE = 200_000
"""Characters of a text that are read in one frame: a line of 10 MB must not hold up a key."""
_THOUGHTS_SHOWN = 6
_COUNTED_WIDTH = 80


class ProseReader:
    """Takes the new pieces of an entry and cuts them into blocks."""

    def __init__(self, entry: ProseEntry, *, plain: bool) -> None:
        self.entry = entry
        self.closed: list[Block] = []
        self.tail: list[Block] = []
        self._splitter = BlockSplitter(plain=plain)
        self._pieces = 0
        self._characters = 0
        self._ended = False
        self._unread = ""

    @property
    def behind(self) -> bool:
        """There is more to read than one frame was allowed to."""
        return bool(self._unread)

    def read(self) -> int:
        """Read what is new; return how many blocks were closed before."""
        before = len(self.closed)
        if self._ended:
            return before
        new = self._unread + "".join(self._new_pieces())
        piece, self._unread = new[:READ_AT_ONCE], new[READ_AT_ONCE:]
        if piece:
            self.closed += self._splitter.feed(piece)
        if self.entry.closed and not self._unread:
            self._ended, self.tail = True, []
            self.closed += self._splitter.close()
        else:
            self.tail = self._splitter.tail
        return before

    def _new_pieces(self) -> Sequence[str]:
        if self.entry.closed:  # the pieces may have been joined to one
            new: Sequence[str] = (self.entry.text[self._characters :],)
        else:
            new = self.entry.pieces[self._pieces :]
            self._pieces += len(new)
        self._characters += sum(map(len, new))
        return new


class ProsePart:
    """The model's words, as Markdown."""

    def __init__(self, entry: ProseEntry, *, gap: bool) -> None:
        self.units: list[Unit] = []
        self._reader = ProseReader(entry, plain=False)
        self._gap = gap

    @property
    def behind(self) -> bool:
        """There is more to read than one frame was allowed to."""
        return self._reader.behind

    def fold(self) -> bool:
        return False

    def guess(self, width: int) -> int:
        return _guess(self._reader.entry, width)

    def update(self) -> tuple[int, list[Unit]]:
        first = self._reader.read()
        removed = self.units[first:]
        known = {unit.value: unit for unit in removed}
        blocks = self._reader.closed[first:] + [_bounded(block) for block in self._reader.tail]
        closed = len(self._reader.closed)
        del self.units[first:]
        for index, block in enumerate(blocks, first):
            value = (block, index < closed and _has_colors(block))
            self.units.append(known.get(value) or self._unit(block, index, value))
        for unit in self.units[first:closed]:
            unit.value = None  # it is never drawn anew: a long text has ten thousand of them
        if self._reader.entry.cut:
            self.units.append(cut_unit())
        return first, removed

    def _unit(self, block: Block, index: int, value: tuple[Block, bool]) -> Unit:
        return _BlockUnit(block, gap=block.gap or (index == 0 and self._gap), value=value)


class _BlockUnit(Unit):
    """A block. A long text has ten thousand of them: a function made for each would take twice the memory."""

    __slots__ = ("_block",)

    def __init__(self, block: Block, *, gap: bool, value: tuple[Block, bool]) -> None:
        size = (len(block.source), block.source.count("\n"))
        super().__init__(_nothing, size=size, gap=gap, late=value[1], value=value)
        self._block = block

    def drawn(self, width: int, seen: bool) -> list[Line]:
        return _draw_block(self._block, width, seen)


def _nothing(_width: int, _seen: bool) -> list[Line]:
    return []


class ReasoningPart:
    """The model's thoughts: the last of them while they come, one row afterwards, all of them on demand."""

    def __init__(self, entry: ProseEntry, *, gap: bool, unfolded: Callable[[], bool]) -> None:
        self.units: list[Unit] = []
        self.unfolded: bool | None = None
        """What a person chose for this entry; None follows the choice for all."""
        self._reader = ProseReader(entry, plain=True)
        self._unfolded_all = unfolded
        self._gap = gap
        self._counted = 0
        self._rows = 0

    @property
    def is_unfolded(self) -> bool:
        """Whether all of it is shown."""
        return self._unfolded_all() if self.unfolded is None else self.unfolded

    @property
    def behind(self) -> bool:
        """There is more to read than one frame was allowed to."""
        return self._reader.behind

    def fold(self) -> bool:
        self.unfolded = not self.is_unfolded
        return True

    def guess(self, width: int) -> int:
        return _guess(self._reader.entry, width) if self.is_unfolded else 1 + self._gap

    def update(self) -> tuple[int, list[Unit]]:
        self._reader.read()
        removed, self.units = self.units, []
        entry, blocks = self._reader.entry, self._reader.closed
        for block in blocks[self._counted :]:
            self._rows += _rows_of(block)
        self._counted = len(blocks)
        head = self._head("▾" if self.is_unfolded or not entry.closed else "▸")
        latest = not (self.is_unfolded or entry.closed)
        last = [*blocks[-_THOUGHTS_SHOWN:], *self._reader.tail] if latest else []
        self.units.append(Unit(lambda width, _s: [head, *_last_thoughts(last, width)], gap=self._gap))
        if self.is_unfolded:
            self.units += [
                Unit(
                    partial(_draw_thought, block),
                    size=(len(block.source), block.source.count("\n")),
                    gap=block.gap and index > 0,
                )
                for index, block in enumerate([*blocks, *self._reader.tail])
            ]
        if entry.cut and entry.closed:
            self.units.append(cut_unit())
        return 0, removed

    def _head(self, arrow: str) -> Line:
        rows = self._rows
        said = (
            f"thought for {rows} line{'' if rows == 1 else 's'}" if self._reader.entry.closed else "thinking…"
        )
        return Line(((f"{arrow} {said}", "fold"),))


def cut_unit() -> Unit:
    """What stands below words that broke off."""
    return Unit(lambda _w, _s: [Line((("┄ broke off here", "muted em"),))])


def _draw_block(block: Block, width: int, seen: bool) -> list[Line]:
    return block_lines(block, width, colored=seen)


def _draw_thought(block: Block, width: int, _seen: bool) -> list[Line]:
    return wrap_text(block.source, "reasoning", width, first=(("  ", "margin"),))


def _last_thoughts(blocks: Sequence[Block], width: int) -> list[Line]:
    lines: list[Line] = []
    for block in reversed(blocks):
        lines = _draw_thought(block, width, False) + lines
        if len(lines) >= _THOUGHTS_SHOWN:
            break
    return lines[-_THOUGHTS_SHOWN:]


def _has_colors(block: Block) -> bool:
    return block.kind == "code" or (block.kind != "plain" and "```" in block.source)


def _bounded(block: Block) -> Block:
    too_long = len(block.source) > TAIL_LIMIT and block.kind != "code"
    return replace(block, kind="plain") if too_long else block


def _rows_of(block: Block) -> int:
    return sum(-(-len(line) // _COUNTED_WIDTH) for line in block.source.split("\n"))


def _guess(entry: ProseEntry, width: int) -> int:
    characters = sum(map(len, entry.pieces))
    return 1 + characters // max(8, width - 8) * 5 // 4
