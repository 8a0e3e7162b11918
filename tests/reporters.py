"""Rooms that report what a test says, for the screen that shows them; refuses to be a real room."""

from __future__ import annotations

import asyncio

from agent_tui_core.runtime.report import ReportRow, ReportSection


class Room:
    """One section; `acted` has the rows on which a verb was run."""

    def __init__(self, title: str, *rows: ReportRow, empty: str = "") -> None:
        self.title = title
        self.rows = rows
        self.empty = empty
        self.acted: list[str] = []
        self.reads = 0
        self.answer = "Done."
        self.fails: Exception | None = None
        self.may_act = asyncio.Event()
        self.may_act.set()

    def report(self) -> ReportSection:
        self.reads += 1
        if self.fails is not None:
            raise self.fails
        return ReportSection(self.title, self.rows, self.empty)

    async def act(self, row_id: str) -> str:
        self.acted.append(row_id)
        await self.may_act.wait()
        if self.fails is not None:
            raise self.fails
        return self.answer
