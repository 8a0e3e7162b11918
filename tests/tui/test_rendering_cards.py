from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.panes.cards import CardPart, folded_card, seconds_words, status_words, telling_argument
from agent_tui.panes.diffs import command_lines, diff_lines, diff_rows
from agent_tui.panes.lines import Line
from agent_tui.panes.remarks import end_lines, notice_lines, user_lines
from agent_tui_core.blocks import JsonObject, ToolResult
from agent_tui_core.events import ApprovalPreview
from agent_tui_core.runtime.entries import EndEntry, NoticeEntry, ToolEntry, ToolStatus, UserEntry
from markdown_texts import TEXTS, has_control
from steps import calls_of

STATUSES: list[ToolStatus] = [
    *("proposed", "judging", "waiting", "running", "ok"),
    *("error", "denied", "cancelled", "timed_out", "not_run"),
]


def call(
    name: str, status: ToolStatus, input_: JsonObject | None = None, output: str | None = None
) -> ToolEntry:
    result = None if output is None else ToolResult("1", output, status == "error")
    return ToolEntry(name, "1", "k", status=status, input=input_, result=result, seconds=0.4)


def rows(lines: list[Line]) -> list[str]:
    return [line.text.rstrip() for line in lines]


def card(entry: ToolEntry, width: int = 50, now: float = 1_000.0) -> list[str]:
    return rows(folded_card(entry, width, now))


def test_a_card_says_tool_argument_state_and_time() -> None:
    assert card(call("Grep", "ok", {"pattern": "def x"}, "a.py:1: def x\n"), 40) == [
        "▎ ✓ Grep  def x                   0.4 s",
        "▎   a.py:1: def x",
    ]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("proposed", "writing…"),
        ("waiting", "waiting for you"),
        ("denied", "denied"),
        ("cancelled", "cancelled 0.4 s"),
        ("error", "error 0.4 s"),
        ("timed_out", "timed out 0.4 s"),
        ("not_run", "not run"),
    ],
)
def test_every_state_has_words(status: ToolStatus, words: str) -> None:
    assert status_words(call("Bash", status), 0.0) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "40 ms"),
        (0.44, "0.4 s"),
        (9.94, "9.9 s"),
        (61.0, "1 min 1 s"),
        (12.7, "12 s"),
        (7322.0, "2 h 2 min"),
    ],
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words


def test_the_telling_argument_is_the_one_that_matters_else_all_of_them() -> None:
    assert telling_argument(call("Bash", "ok", {"command": "ls", "timeout": 3})) == "ls"
    assert telling_argument(call("Read", "ok", {"file_path": "a b"})) == "a b"
    assert telling_argument(call("search", "ok", {"q": ["x", 1], "n": None})) == '{"q": ["x", 1], "n": null}'
    assert telling_argument(call("now", "ok", {})) == ""


def test_streaming_arguments_are_shown_before_they_are_whole() -> None:
    entry = ToolEntry("Write", "1", raw=['{"file_path": "a.py", "content": "one\\ntw'])
    assert card(entry, 40) == ["▎ ◌ Write  a.py                writing…", "▎   one", "▎   tw"]
    assert telling_argument(ToolEntry("Bash", "1", raw=['{"comm', 'and": "ls -l'])) == "ls -l"


def test_a_long_command_is_shown_whole_below_the_head() -> None:
    shown = card(call("Bash", "waiting", {"command": "cd /somewhere && " * 4 + "make"}), 40)
    assert (
        "".join(row.removeprefix("▎   ") + " " for row in shown[1:]).split()
        == ("cd /somewhere && " * 4 + "make").split()
    )


def test_a_card_draws_little_of_a_giant_command_or_line() -> None:
    head = card(call("Bash", "waiting", {"command": "word " * 20_000}))
    assert head[-1] == "▎   … 100,000 characters in all"
    entry = call("Write", "waiting", {"file_path": "a"})
    entry.preview = ApprovalPreview("diff", "--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+" + "x" * 2_000_000)
    assert len(card(entry)) < 20
    taken = calls_of(lambda: folded_card(entry, 50, 0.0))
    assert taken < 10_000


def test_a_long_result_shows_its_head_and_how_much_more_there_is() -> None:
    shown = card(call("Read", "ok", {"file_path": "a"}, "\n".join(map(str, range(50)))))
    assert shown[1:] == [*(f"▎   {n}" for n in range(8)), "▎   … 42 more lines"]


def test_a_long_output_of_a_command_shows_head_and_tail() -> None:
    shown = card(call("Bash", "ok", {"command": "x"}, "\n".join(map(str, range(50)))))
    assert shown[5] == "▎   … 42 more lines"
    assert shown[-1] == "▎   49"


def test_a_running_command_shows_the_end_of_its_output() -> None:
    entry = call("Bash", "running", {"command": "make"})
    entry.started_at, entry.progress = 997.0, "\n".join(f"step {n}" for n in range(20)) + "\n"
    assert card(entry)[0].endswith("running 3 s")
    assert card(entry)[1:] == [f"▎   step {n}" for n in range(14, 20)]


def test_a_denial_says_by_whom_and_why() -> None:
    entry = call("Bash", "denied", {"command": "rm"}, "denied")
    entry.decided_by, entry.reason = "person", "not in this house"
    assert card(entry)[1:] == ["▎   by you: not in this house"]


def test_an_edit_shows_its_diff_with_line_numbers_and_colours() -> None:
    entry = call("Edit", "ok", {"file_path": "a.py"}, "edited")
    entry.preview = ApprovalPreview("diff", "--- a\n+++ b\n@@ -9,2 +9,2 @@\n same\n-old\n+new\n", "a.py")
    lines = folded_card(entry, 40, 0.0)
    assert rows(lines)[1:] == ["▎    9   same", "▎   10 - old", "▎   10 + new"]
    assert [line.fill for line in lines[1:]] == ["diff", "diff-removed", "diff-added"]


def test_an_unfolded_card_shows_everything() -> None:
    part = CardPart(
        call("Read", "ok", {"file_path": "a"}, "\n".join(map(str, range(900)))), gap=False, clock=lambda: 0.0
    )
    part.unfolded = True
    part.update()
    drawn = [row for unit in part.units for row in rows(unit.draw(40, seen=True))]
    assert drawn[-2:] == ["▎   899", "▎   ▴ show less"]
    assert len(drawn) == 902


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, st.sampled_from(STATUSES), st.integers(8, 90))
def test_any_card_fits_and_holds_no_control(one: str, other: str, status: ToolStatus, width: int) -> None:
    entry = call(one, status, {"command": other, one: other}, other)
    entry.reason, entry.progress, entry.name = one, other, one if width % 2 else "Bash"
    entry.preview = ApprovalPreview("diff", other, one) if width % 3 else None
    for line in folded_card(entry, width, 0.0):
        assert not has_control(line.text)
        assert cell_len(line.text) <= max(width, 30)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.integers(1, 60))
def test_remarks_fit_and_hold_no_control(text: str, width: int) -> None:
    drawn = user_lines(UserEntry(text, returned=text), width) + notice_lines(
        NoticeEntry("error", text), width
    )
    for line in drawn + end_lines(EndEntry("limit", text), width):
        assert not has_control(line.text)


def test_ends_are_words() -> None:
    assert rows(end_lines(EndEntry("interrupted", "by you"), 60)) == ["■ interrupted — by you"]
    assert rows(end_lines(EndEntry("failed", "no server"), 60)) == ["✗ failed: no server"]
    assert rows(end_lines(EndEntry("limit", "25 rounds"), 60)) == ["■ stopped at the limit — 25 rounds"]


def test_what_the_person_said_has_a_bar_and_its_marks() -> None:
    assert rows(user_lines(UserEntry("do it", staged=False), 30)) == ["▌ do it"]
    assert rows(user_lines(UserEntry("do it"), 30)) == ["┊ do it         no answer yet"]
    assert (
        rows(user_lines(UserEntry("do it", returned="no key"), 60))[1]
        == "┊ ↩ came back to the input box: no key"
    )


# --- diffs --------------------------------------------------------------------------------------------------


def test_a_removed_line_that_looks_like_a_header_is_a_line() -> None:
    unified = "--- a\n+++ b\n@@ -1,2 +1,1 @@\n--- hidden\n-@@ -1 +1 @@\n+x\n"
    assert [(row.kind, row.text) for row in diff_rows(unified)][2:] == [
        ("hunk", ""),
        ("removed", "-- hidden"),
        ("removed", "@@ -1 +1 @@"),
        ("added", "x"),
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, max_size=8), st.lists(TEXTS, max_size=8))
def test_every_line_of_a_diff_is_shown(old: list[str], new: list[str]) -> None:
    before, after = ([line.replace("\n", " ").replace("\r", " ") for line in lines] for lines in (old, new))
    unified = "\n".join(difflib.unified_diff(before, after, "a", "b", lineterm=""))
    found = list(diff_rows(unified))
    assert [row.text for row in found if row.kind == "added"] == [
        line[1:] for line in unified.split("\n")[2:] if line.startswith("+")
    ]
    for line in diff_lines(unified, 60):
        assert not has_control(line.text)


def test_an_approval_spells_out_what_is_invisible() -> None:
    unified = "@@ -1 +1 @@\n-a\n+a\u200b\u202e\tb\x1b[31m\n"
    assert rows(diff_lines(unified, 60))[1] == "1 + a\\u{200b}\\u{202e}→   b\\u{1b}[31m"
    assert rows(command_lines("ls\u00a0\x1b[2J\nrm -rf x", 60)) == ["$ ls\\u{a0}\\u{1b}[2J", "  rm -rf x"]


def test_a_long_command_is_wrapped_never_cut() -> None:
    command = "echo " + "x" * 200
    drawn = "".join(line.text.lstrip("$ ").removeprefix("↪ ") for line in command_lines(command, 30))
    assert drawn == command
