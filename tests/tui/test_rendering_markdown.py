from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.panes.lines import Line
from agent_tui.panes.markdown_blocks import Block, split_blocks
from agent_tui.panes.palette import STYLE_NAMES
from agent_tui.panes.rendering import _Drawing, _parser, block_lines
from markdown_texts import TEXTS, has_control


def draw(text: str, width: int = 40) -> list[Line]:
    return [line for block in split_blocks(text) for line in block_lines(block, width)]


def rows(text: str, width: int = 40) -> list[str]:
    return [line.text.rstrip() for line in draw(text, width)]


def styles_of(text: str, word: str) -> set[str]:
    return {
        name
        for line in draw(text)
        for piece, names in line.segments
        if word in piece
        for name in names.split()
    }


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.integers(4, 100))
def test_any_text_is_drawn_within_its_width_and_without_controls(text: str, width: int) -> None:
    for line in draw(text, width):
        assert not has_control(line.text)
        assert cell_len(line.text) <= max(width, 24), line
        for _, names in line.segments:
            assert set(names.split()) <= set(STYLE_NAMES), names


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_the_parser_itself_takes_any_block(text: str) -> None:
    for block in split_blocks(text):
        _Drawing(block, 40, "text", True).draw(_parser().parse(block.source))


def test_words_wrap_at_the_width() -> None:
    assert rows("one two three four five six seven eight nine ten", 20) == [
        "one two three four",
        "five six seven eight",
        "nine ten",
    ]


def test_emphasis_becomes_styles_and_loses_its_marks() -> None:
    assert rows("a **bold** _lean_ ~~gone~~ `code`") == ["a bold lean gone code"]
    assert "strong" in styles_of("a **bold** b", "bold")
    assert {"strong", "em"} <= styles_of("***both***", "both")
    assert "strike" in styles_of("~~gone~~", "gone")
    assert "inline-code" in styles_of("`code`", "code")


def test_a_link_shows_its_target_unless_it_is_the_same() -> None:
    assert rows("[docs](https://a.b/c)") == ["docs (https://a.b/c)"]
    assert rows("<https://a.b>") == ["https://a.b"]
    assert rows("![a cat](cat.png)") == ["[picture: a cat] (cat.png)"]


def test_a_link_that_lies_about_its_target_is_seen() -> None:
    assert rows("[https://bank.example](https://thief.example)", 80) == [
        "https://bank.example (https://thief.example)"
    ]


def test_html_is_shown_as_it_was_written() -> None:
    assert rows("<details><summary>x</summary>\n\na <b>b</b> &amp; c") == [
        "<details><summary>x</summary>",
        "a <b>b</b> & c",
    ]


def test_a_reference_definition_is_not_swallowed() -> None:
    assert rows("[hidden]: https://a.b 'words'") == ["[hidden]: https://a.b 'words'"]


def test_entities_cannot_bring_controls_back() -> None:
    assert not [
        row for row in rows("a&#27;[2J b&NewLine;c&Tab;d&#x202e;e") if has_control(row) or "\u202e" in row
    ]


def test_items_hang_under_their_first_word() -> None:
    assert rows("- a long item that wraps in a narrow place\n  - nested one also long enough", 24) == [
        "• a long item that wraps",
        "  in a narrow place",
        "  ◦ nested one also long",
        "    enough",
    ]


def test_ordered_items_count_on_over_blocks() -> None:
    assert rows("7. a\n7. b\n\n   ```\n   x\n   ```\n8. c")[:2] == ["7. a", "8. b"]
    assert rows("7. a\n8. b\n9. c\n10. d")[-1] == "10. d"


def test_tasks_are_boxes() -> None:
    assert rows("- [x] done\n- [ ] open\n1. [ ] both") == ["☑ done", "☐ open", "1. ☐ both"]


def test_an_empty_item_is_still_an_item() -> None:
    assert rows("-\n- b") == ["•", "• b"]


def test_quotes_have_a_bar_on_every_row() -> None:
    assert rows("> some quoted words that wrap\n>\n> - item", 16) == [
        "▎ some quoted",
        "▎ words that",
        "▎ wrap",
        "▎",
        "▎ • item",
    ]


def test_code_wraps_with_a_mark_and_loses_nothing() -> None:
    lines = draw("```py\nvalue = 'a very long string in a line'\n```", 20)
    assert [line.text for line in lines] == [" py", " value = 'a very lo", " ↪ ng string in a l", " ↪ ine'"]
    assert {line.fill for line in lines} == {"code"}
    assert [line.join for line in lines] == ["\n", "", "", "\n"]


def test_closed_code_is_coloured_and_open_code_is_not() -> None:
    block = Block("code", "def f(): pass", language="python")
    assert any(style == "code-keyword" for _, style in block_lines(block, 40)[1].segments)
    assert all("keyword" not in style for _, style in block_lines(block, 40, colored=False)[1].segments)


def test_an_unknown_language_is_drawn_plain() -> None:
    assert rows("```nonsense-lang\nx y\n```") == [" nonsense-lang", " x y"]


def test_a_table_that_fits_is_drawn_with_thin_lines() -> None:
    assert rows("| a | num |\n|:--|----:|\n| x | 1 |\n| `yy` | 22 |") == [
        "┌────┬─────┐",
        "│ a  │ num │",
        "├────┼─────┤",
        "│ x  │   1 │",
        "│ yy │  22 │",
        "└────┴─────┘",
    ]


def test_a_wide_table_wraps_its_cells() -> None:
    drawn = rows("| key | words |\n|---|---|\n| k | some words that do not fit here |\n| l | x |", 26)
    assert max(map(cell_len, drawn)) <= 26
    assert drawn[3:6] == [
        "│ k   │ some words that  │",
        "│     │ do not fit here  │",
        "├─────┼──────────────────┤",
    ]


def test_a_table_without_room_becomes_a_list_and_loses_nothing() -> None:
    head = "| " + " | ".join(f"column{n}" for n in range(6)) + " |\n" + "|---" * 6 + "|\n"
    drawn = rows(head + "| " + " | ".join(f"value{n}" for n in range(6)) + " |", 24)
    assert drawn[:2] == ["column0: value0", "column1: value1"]


def test_wide_characters_wrap_by_their_cells() -> None:
    drawn = rows("日本語の文章はどこでも折り返せる", 10)
    assert drawn == ["日本語の文", "章はどこで", "も折り返せ", "る"]
    assert all(cell_len(row) <= 10 for row in drawn)


@pytest.mark.parametrize(
    "hostile", ["[" * 8000, "*a " * 2600, "`" * 7999, "> " * 3999, "- " * 3999, "![" * 3999]
)
def test_hostile_markup_is_drawn_in_bounded_time(hostile: str) -> None:
    assert draw(hostile)
