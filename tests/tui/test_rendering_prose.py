from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.panes.lines import Line
from agent_tui.panes.prose import TAIL_LIMIT, ProsePart, ReasoningPart
from agent_tui.panes.rows import Spot
from agent_tui.panes.sheet import Part, Sheet
from agent_tui_core.runtime.entries import ProseEntry
from markdown_texts import CUTS, TEXTS, has_control, slices


def drawn(part: Part, width: int = 40) -> list[Line]:
    return [line for unit in part.units for line in unit.draw(width, seen=True)]


def whole(text: str) -> ProsePart:
    part = ProsePart(ProseEntry("text", [text], closed=True), gap=False)
    part.update()
    return part


@settings(max_examples=300, deadline=None)
@given(TEXTS, CUTS, st.integers(8, 60), st.booleans())
def test_any_slicing_ends_in_the_same_lines_as_one_piece(
    text: str, cuts: list[int], width: int, join: bool
) -> None:
    entry = ProseEntry("text")
    part = ProsePart(entry, gap=False)
    for piece in slices(text, cuts):
        entry.pieces.append(piece)
        part.update()
        assert not any(has_control(line.text) for line in drawn(part, width))
    entry.closed = True
    if join:
        assert entry.text == text
    part.update()
    assert drawn(part, width) == drawn(whole(text), width)


@settings(max_examples=200, deadline=None)
@given(TEXTS, CUTS)
def test_a_sheet_that_follows_shows_what_a_new_one_shows(text: str, cuts: list[int]) -> None:
    entry = ProseEntry("text")
    grown, sheet = ProsePart(entry, gap=False), Sheet()
    sheet.resize(30)
    sheet.add(grown)
    for piece in slices(text, cuts):
        entry.pieces.append(piece)
        sheet.touch(0)
        sheet.window(10)
    entry.closed = True
    sheet.touch(0)
    fresh = Sheet()
    fresh.resize(30)
    fresh.add(ProsePart(ProseEntry("text", [text], closed=True), gap=False))
    assert [row.line for row in sheet.window(10)] == [row.line for row in fresh.window(10)]
    assert [row.line for row in sheet.rows_between(None, None)] == [
        row.line for row in fresh.rows_between(None, None)
    ]
    assert sheet.total == len(list(sheet.rows_between(None, None)))


@pytest.mark.parametrize("following", [True, False])
def test_every_row_of_a_closed_block_of_code_has_its_colours_at_once(following: bool) -> None:
    rows = "".join(f"x{number} = {number}\n" for number in range(6))
    sheet = Sheet()
    sheet.resize(30)
    sheet.add(ProsePart(ProseEntry("text", [f"```python\n{rows}```\n\nEnd."], closed=True), gap=False))
    if not following:
        sheet.to_start()
    code = [row.line for row in sheet.window(20) if " = " in row.line.text]
    assert len(code) == 6
    assert all(len(line.segments) > 4 for line in code)


@settings(max_examples=100, deadline=None)
@given(TEXTS, CUTS)
def test_folded_reasoning_counts_the_same_however_it_came(text: str, cuts: list[int]) -> None:
    entry = ProseEntry("reasoning")
    part = ReasoningPart(entry, gap=False, unfolded=lambda: False)
    for piece in slices(text, cuts):
        entry.pieces.append(piece)
        part.update()
    entry.closed = True
    part.update()
    other = ReasoningPart(ProseEntry("reasoning", [text], closed=True), gap=False, unfolded=lambda: False)
    other.update()
    assert drawn(part) == drawn(other)
    assert len(drawn(part)) == 1


def test_an_open_block_past_the_bound_is_plain_until_it_closes() -> None:
    entry = ProseEntry("text", ["**bold** " * (TAIL_LIMIT // 9 + 10)])
    part = ProsePart(entry, gap=False)
    part.update()
    assert "**bold**" in drawn(part)[0].text
    entry.closed = True
    part.update()
    assert "**" not in drawn(part)[0].text


def test_a_closed_block_is_drawn_once() -> None:
    entry = ProseEntry("text", ["one **two**\n\nopen"])
    part = ProsePart(entry, gap=False)
    part.update()
    first = drawn(part)[0]
    entry.pieces.append(" more\n\nand more")
    part.update()
    assert drawn(part)[0] is first


def test_words_that_broke_off_say_so() -> None:
    part = ProsePart(ProseEntry("text", ["half a sen"], closed=True, cut=True), gap=False)
    part.update()
    assert [line.text for line in drawn(part)] == ["half a sen", "┄ broke off here"]


def test_scrolling_through_a_sheet_passes_every_row_once() -> None:
    sheet = Sheet()
    sheet.resize(20)
    sheet.add(
        ProsePart(ProseEntry("text", ["".join(f"row {n}\n\n" for n in range(400))], closed=True), gap=False)
    )
    rows = [row.line.text for row in sheet.rows_between(None, None)]
    assert sheet.window(10)[-1].line.text == "row 399"
    for top in range(len(rows) - 11, -1, -1):
        sheet.scroll(-1, 10)
        assert [row.line.text for row in sheet.window(10)] == rows[top : top + 10]
        assert sheet.above(10) == top
    sheet.scroll(-5, 10)
    assert sheet.window(10)[0].spot == Spot(0, 0, 0)
    sheet.scroll(10_000, 10)
    assert sheet.following
