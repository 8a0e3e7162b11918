from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.panes.lines import chop, clean_text, row_spans, shorten, wrap

PROSE = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\u2028\u2029"), max_size=120
).map(clean_text)


@settings(max_examples=300, deadline=None)
@given(PROSE, st.integers(2, 40))
def test_wrapping_loses_only_spaces_and_keeps_the_width(text: str, width: int) -> None:
    spans = row_spans(text, width)
    assert "".join(text[a:b] for a, b in spans).replace(" ", "") == text.replace(" ", "")
    for start, end in spans:
        assert cell_len(text[start:end]) <= width


@settings(max_examples=300, deadline=None)
@given(PROSE, st.integers(8, 40))
def test_chopping_loses_nothing(text: str, width: int) -> None:
    lines = chop([(text, "code")], width, first=((" ", "margin"),))
    pieces = [piece for line in lines for piece, style in line.segments if style == "code"]
    assert "".join(pieces) == text
    assert all(cell_len(line.text) <= width for line in lines)


@given(PROSE, st.integers(0, 20))
def test_what_is_shortened_fits_and_says_that_it_was_cut(text: str, width: int) -> None:
    short = shorten(text, width)
    assert cell_len(short) <= max(width, 0)
    assert short == text or short.endswith("…") or width == 0


def test_indentation_of_the_first_row_is_kept() -> None:
    assert [text for line in wrap([("    deep words here", "text")], 12) for text, _ in line.segments] == [
        "    deep",
        "words here",
    ]


def test_a_word_longer_than_the_row_is_torn() -> None:
    assert row_spans("a" * 25, 10) == [(0, 10), (10, 20), (20, 25)]


def test_a_wrapped_row_remembers_the_space_that_was_there() -> None:
    assert [line.join for line in wrap([("aaaa bbbb\ncccc", "text")], 4)] == [" ", "\n", "\n"]


def test_bidirectional_marks_are_spelt_out() -> None:
    assert clean_text("a\u202eb\u2028c") == "a\\u{202e}b c"
