"""Owns the drawing of a table in a given width; refuses to lose a cell: it wraps, then becomes a list."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from agent_tui.panes.lines import Line, Segment, wrap

Cell = list[Segment]
_LEAST = 5
"""Cells of a column below which a table is no longer readable."""


def table_lines(rows: Sequence[Sequence[Cell]], aligns: Sequence[str], width: int) -> list[Line]:
    """Draw rows of styled cells, the first row as the head, with thin lines between."""
    columns = max((len(row) for row in rows), default=0)
    if columns == 0:
        return []
    wanted = [max(_size(row[c]) if c < len(row) else 0 for row in rows) for c in range(columns)]
    widths = _fit(wanted, width - 3 * columns - 1)
    if widths is None:
        return _as_list(rows, width)
    drawn = [[wrap(row[c] if c < len(row) else [], widths[c]) for c in range(columns)] for row in rows]
    tall = any(len(cell) > 1 for row in drawn[1:] for cell in row)
    lines = [_border(widths, "┌┬┐")]
    for number, row in enumerate(drawn):
        lines += _row(row, widths, aligns)
        if (number == 0 and len(drawn) > 1) or (tall and 0 < number < len(drawn) - 1):
            lines.append(_border(widths, "├┼┤"))
    return [*lines, _border(widths, "└┴┘")]


def _fit(wanted: list[int], room: int) -> list[int] | None:
    """Share the room: narrow columns get what they want, wide ones share the rest."""
    if sum(wanted) <= room:
        return [max(1, size) for size in wanted]
    widths = [0] * len(wanted)
    open_columns = set(range(len(wanted)))
    while open_columns:
        share = room // len(open_columns)
        narrow = {c for c in open_columns if wanted[c] <= share}
        if not narrow:
            for extra, c in enumerate(sorted(open_columns)):
                widths[c] = share + (extra < room % len(open_columns))
            break
        for c in narrow:
            widths[c] = wanted[c]
            room -= wanted[c]
        open_columns -= narrow
    enough = all(got >= min(want, _LEAST) for got, want in zip(widths, wanted, strict=True))
    return [max(1, size) for size in widths] if enough else None


def _row(cells: list[list[Line]], widths: list[int], aligns: Sequence[str]) -> list[Line]:
    lines: list[Line] = []
    for level in range(max(len(cell) for cell in cells)):
        segments: list[Segment] = [("│ ", "table")]
        for c, cell in enumerate(cells):
            content = cell[level].segments if level < len(cell) else ()
            spare = max(0, widths[c] - sum(cell_len(text) for text, _ in content))
            align = aligns[c] if c < len(aligns) else ""
            left = spare if align == "right" else spare // 2 if align == "center" else 0
            segments += [(" " * left, "text"), *content, (" " * (spare - left), "text")]
            segments.append((" │ " if c + 1 < len(cells) else " │", "table"))
        lines.append(Line(tuple(segment for segment in segments if segment[0])))
    return lines


def _border(widths: list[int], corners: str) -> Line:
    body = corners[1].join("─" * (size + 2) for size in widths)
    return Line(((corners[0] + body + corners[2], "table"),))


def _as_list(rows: Sequence[Sequence[Cell]], width: int) -> list[Line]:
    head, lines = rows[0], list[Line]()
    for number, row in enumerate(rows[1:] or rows):
        if number:
            lines.append(Line((("─" * min(width, 12), "table"),)))
        for c, cell in enumerate(row):
            name: Cell = [*head[c], (": ", "muted")] if c < len(head) and len(rows) > 1 else []
            lines += wrap([*name, *cell], width, rest=(("  ", "margin"),))
    return lines


def _size(cell: Cell) -> int:
    return sum(cell_len(text) for text, _ in cell)
