"""Owns the words round the thing that waits: its title, and the rows that say who, where, why, what is saved.

Refuses to cut in silence: what does not fit into a few rows stands, whole, at the end of the preview.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content

from agent_tui.modals.preview import SPELT_OUT, PreviewLine, shown_line
from agent_tui.panes.wording import cut, cut_middle
from agent_tui_core.events import ApprovalRequest

Rows: TypeAlias = Sequence[tuple[str, str]]
"""Labels and texts."""

_MOST_ROWS = 3
_LABEL = 9
_NAME = 24
_TOOL = 32
_PATH = 34


def title(request: ApprovalRequest, number: int | None, room: int, *, edited: bool) -> Content:
    """The question in one line of `room` cells; what it cuts is marked, and whole in the rows below."""
    name = shown_line(request.agent_name)
    who = cut(name if number is None else f"{number} {name}", _NAME)
    tool = cut(shown_line(request.tool), _TOOL)
    changes = request.preview.kind == "diff" and request.preview.path and not edited
    does = f" change {cut_middle(shown_line(_file(request)), _PATH)}?" if changes else " run this?"
    words = Content.assemble(
        (who, "$primary"), " asks: may ", (tool, "$accent"), does, " (edited)" if edited else ""
    )
    return words.truncate(max(room, 10), ellipsis=True)


def detail_rows(request: ApprovalRequest, inner: int, saved: Rows) -> tuple[list[Content], list[PreviewLine]]:
    """The rows for `inner` cells, what would be `saved` last; and what is too long, for the preview's end."""
    rows: list[Content] = []
    rest: list[PreviewLine] = []
    for label, text in [*_particulars(request), *saved]:
        room = max(inner - _LABEL, 20)
        parts = Content(text).highlight_regex(SPELT_OUT, style="$warning reverse bold").fold(room)
        if len(parts) > _MOST_ROWS:
            rest += _headed(label, text)
            where = f"{len(text):,} characters: at the end of the text above"
            parts = Content.styled(where, "$warning").fold(room)
        for number, part in enumerate(parts):
            rows.append(Content.assemble((f"{label if number == 0 else '':<{_LABEL}}", "$text-muted"), part))
    return rows, rest


def detail_lines(request: ApprovalRequest, saved: Rows) -> list[PreviewLine]:
    """All of it as lines, for a terminal without room for rows."""
    return [line for label, text in [*_particulars(request), *saved] for line in _headed(label, text)]


def _particulars(request: ApprovalRequest) -> list[tuple[str, str]]:
    tool, path = shown_line(request.tool), shown_line(_file(request))
    place = shown_line(request.workspace)
    if request.branch is not None:
        place += f" · branch {shown_line(request.branch)}"
    rows = [
        ("Agent", f"{shown_line(request.agent_name)} · {shown_line(request.model)}"),
        ("Tool", tool if cell_len(tool) > _TOOL else ""),
        ("File", path if cell_len(path) > _PATH or request.preview.kind != "diff" else ""),
        ("In", place),
        ("Why", shown_line(request.reason)),
    ]
    return [(label, text) for label, text in rows if text]


def _file(request: ApprovalRequest) -> str:
    """What the call changes: named from the workspace, whose own row stands below, if it is in there."""
    path = PurePath(request.preview.path or "")
    if path.is_relative_to(request.workspace) and ".." not in path.parts:
        return str(path.relative_to(request.workspace))
    return request.preview.path or ""


def _headed(label: str, text: str) -> list[PreviewLine]:
    return [PreviewLine(""), PreviewLine(f"── {label} ──", "heading"), PreviewLine(text)]
