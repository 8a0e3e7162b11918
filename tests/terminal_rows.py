"""Owns what stood in the rows of a terminal while a program wrote to it; refuses colours and wide letters."""

from __future__ import annotations

from collections.abc import Iterator

from terminal_bytes import tokens


def drawn_rows(output: bytes, *, columns: int) -> Iterator[str]:
    """Every row of the screen as it was when the program went on to another one."""
    screen: dict[int, list[str]] = {}
    row, column = 1, 0
    for token in tokens(output):
        if token.kind == "text":
            cells = screen.setdefault(row, [" "] * columns)
            cells[column : column + len(token.said)] = token.said
            column += len(token.said)
        elif token.kind == "csi" and token.said.endswith("H"):
            before, (row, column) = row, _place(token.said)
            if row != before and before in screen:
                yield "".join(screen[before])


def _place(said: str) -> tuple[int, int]:
    row, _, column = said[:-1].partition(";")
    return int(row or 1), int(column or 1) - 1
