from __future__ import annotations

from hypothesis import example, given, settings

from agent_tui.panes.markdown_blocks import BLOCK_LIMIT, LINE_LIMIT, Block, BlockSplitter, split_blocks
from markdown_texts import CUTS, TEXTS, slices


def kinds(text: str) -> list[str]:
    return [block.kind for block in split_blocks(text)]


@settings(max_examples=300, deadline=None)
@given(TEXTS, CUTS)
def test_any_slicing_of_a_text_gives_the_same_blocks(text: str, cuts: list[int]) -> None:
    splitter = BlockSplitter()
    closed: list[Block] = []
    for piece in slices(text, cuts):
        closed += splitter.feed(piece)
        list(splitter.tail)
    assert closed + splitter.close() == split_blocks(text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
@example("```\n\n\x00")
def test_the_tail_is_what_closing_now_would_give(text: str) -> None:
    splitter = BlockSplitter()
    splitter.feed(text)
    tail = splitter.tail
    if not text.endswith(("\x1b", "\r")) and "\x1b" not in text[-80:]:
        assert tail == splitter.close()


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_no_character_that_moves_the_terminal_reaches_a_block(text: str) -> None:
    for block in split_blocks(text):
        assert not [
            char for char in block.source if char != "\n" and (ord(char) < 32 or 127 <= ord(char) < 160)
        ]


def test_blank_lines_close_paragraphs_and_leave_a_gap() -> None:
    assert split_blocks("one\ntwo\n\nthree") == [
        Block("markdown", "one\ntwo", gap=False),
        Block("markdown", "three", gap=True),
    ]


def test_a_fence_keeps_blank_lines_and_its_language() -> None:
    (code,) = split_blocks("```py title=x\na\n\n# b\n```\n")
    assert (code.kind, code.language, code.source) == ("code", "py", "a\n\n# b")


def test_a_longer_fence_holds_a_shorter_one() -> None:
    (code,) = split_blocks("~~~~\n```\n~~~\n~~~~")
    assert code.source == "```\n~~~"


def test_a_fence_that_is_not_closed_is_code_to_the_end() -> None:
    assert kinds("text\n```\n# a\n\n- b") == ["markdown", "code"]


def test_an_indented_fence_loses_its_indent() -> None:
    (code,) = split_blocks("  ```\n    x\n  y\n z\n  ```")
    assert code.source == "  x\ny\nz"


def test_headings_rules_and_lists_interrupt_a_paragraph() -> None:
    found = kinds("a\n# b\nc\n- d\n- e\n***\nf")
    assert found == ["markdown", "heading", "markdown", "item", "item", "markdown", "markdown"]


def test_an_underline_belongs_to_its_heading() -> None:
    assert split_blocks("Title\n---\n")[0].source == "Title\n---"


def test_each_item_is_a_block_with_its_number() -> None:
    items = split_blocks("3. a\n3. b\n   - nested\n\n   more\n4. c\n\ntext")
    assert [(item.kind, item.number) for item in items] == [
        ("item", 3),
        ("item", 4),
        ("item", 5),
        ("markdown", None),
    ]
    assert items[1].source == "3. b\n   - nested\n\n   more"


def test_a_fence_inside_an_item_may_hold_markers() -> None:
    (item,) = split_blocks("- a\n  ```\n  - not an item\n\n  # nor a heading\n  ```\n  end")
    assert item.kind == "item"


def test_a_year_at_the_start_of_a_line_is_no_list() -> None:
    assert kinds("It happened in\n1999. That was long ago") == ["markdown"]


def test_a_closed_block_never_changes_while_more_arrives() -> None:
    splitter, seen = BlockSplitter(), list[Block]()
    for char in "# h\n\npara **b**\n\n- a\n- b\n\n```\ncode\n```\n| a |\n|---|\n| 1 |\n\nend":
        before = list(seen)
        seen += splitter.feed(char)
        assert seen[: len(before)] == before
    assert [block.kind for block in seen] == ["heading", "markdown", "item", "item", "code", "markdown"]


def test_a_giant_line_is_cut_and_nothing_of_it_is_lost() -> None:
    text = "word " * 100_000
    blocks = split_blocks(text)
    assert max(len(block.source) for block in blocks) <= LINE_LIMIT + BLOCK_LIMIT
    assert "".join(block.source.replace("\n", "") for block in blocks).split() == text.split()


def test_a_giant_fence_becomes_parts_of_one_piece_of_code() -> None:
    blocks = split_blocks("```py\n" + "x = 1\n" * 5_000 + "```\nafter")
    assert {block.kind for block in blocks[:-1]} == {"code"}
    assert [block.starts for block in blocks[:3]] == [True, False, False]
    assert sum(block.source.count("x = 1") for block in blocks) == 5_000
    assert blocks[-1].source == "after"


def test_an_escape_sequence_split_over_pieces_is_never_shown() -> None:
    splitter = BlockSplitter()
    splitter.feed("red \x1b[3")
    assert splitter.tail[0].source == "red "
    splitter.feed("1mtext")
    assert splitter.tail[0].source == "red text"
