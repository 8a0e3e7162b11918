from __future__ import annotations

import pytest

from agent_tui_core.events import (
    AnswerEnded,
    TextDelta,
    ToolUseDelta,
)
from chunks import DONE, calls, delta, message, piece, run, uses


def test_another_id_without_a_name_is_the_same_call() -> None:
    found = uses(calls(piece(0, "a", "Read", '{"p"')), calls(piece(0, "b", None, ":1}")))
    assert found == [("Read", {"p": 1})]


def test_a_new_id_with_a_name_on_a_used_index_is_a_new_call() -> None:
    built = message(calls(piece(0, "a", "Read", "{}")), calls(piece(0, "b", "Read", '{"p":1}')), DONE)
    assert [(use.id, use.input) for use in built.tool_uses] == [("a", {}), ("b", {"p": 1})]


def test_an_id_and_name_in_every_piece_is_one_call() -> None:
    found = uses(calls(piece(0, "a", "Read", '{"p"')), calls(piece(0, "a", "Read", ":1}")))
    assert found == [("Read", {"p": 1})]


def test_an_id_that_comes_late_is_the_calls_own() -> None:
    built = message(calls(piece(0, "", "Read")), calls(piece(0, "a", "Read", "{}")), DONE)
    assert [use.id for use in built.tool_uses] == ["a"]


def test_without_an_index_a_new_id_is_a_new_call_and_the_last_call_goes_on() -> None:
    found = uses(
        calls(piece(None, "a", "Read", '{"p"')),
        calls(piece(None, None, None, ":1}")),
        calls(piece(None, "b", "Bash", "{"), piece(None, "b", None, "}")),
        calls(piece(None, "a", None, " ")),
    )
    assert found == [("Read", {"p": 1}), ("Bash", {})]


def test_without_index_and_id_a_name_starts_a_new_call() -> None:
    built = message(
        calls(piece(name="Read", arguments='{"p":1}'), piece(name="Read", arguments='{"p":2}')), DONE
    )
    assert [use.input for use in built.tool_uses] == [{"p": 1}, {"p": 2}]
    assert len({use.id for use in built.tool_uses}) == 2


def test_nameless_calls_on_one_index_are_told_apart_by_another_known_name() -> None:
    found = uses(calls(piece(0, "", "Read", '{"p":1}')), calls(piece(0, "", "Bash", '{"c":2}')))
    assert found == [("Read", {"p": 1}), ("Bash", {"c": 2})]


@pytest.mark.parametrize("index", [10**15, -1, 2**70])
def test_a_huge_index_allocates_nothing(index: int) -> None:
    assert uses(calls(piece(index, "a", "Read", "{}"))) == [("Read", {})]


@pytest.mark.parametrize("index", ["0", True, 1.5, [], {}])
def test_an_index_that_is_no_number_is_no_index(index: object) -> None:
    assert uses(calls(piece(index, "a", "Read", "{}"))) == [("Read", {})]


def test_ids_go_through_unchanged_and_missing_ones_are_made_up() -> None:
    built = message(
        calls(piece(0, " odd/ID:1 ", "Read", "{}"), piece(1, None, "Read", "{}"), piece(2, 7, "Read")), DONE
    )
    first, second, third = (use.id for use in built.tool_uses)
    assert (first, third) == (" odd/ID:1 ", "7")
    assert second.startswith("call_")


def test_one_id_for_two_calls_is_sent_back_for_the_first_alone() -> None:
    built = message(calls(piece(0, "x", "Read", "{}"), piece(1, "x", "Bash", '{"c":1}')), DONE)
    first, second = built.tool_uses
    assert first.id == "x" != second.id


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["get_weather", "get_weather"], "get_weather"),
        (["get_", "weather"], "get_weather"),
        (["get", "_wea", "ther"], "get_weather"),
        (["Read", "Bash"], "Read"),
        (["Read", "", None], "Read"),
        (["unknown", "_tool"], "unknown"),
    ],
)
def test_names_that_are_repeated_or_split_are_settled_by_the_known_tools(
    names: list[str], expected: str
) -> None:
    assert uses(*(calls(piece(0, None, name, None)) for name in names)) == [(expected, {})]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([""], [{}]),
        ([None], [{}]),
        (["null"], [{}]),
        ([" \n"], [{}]),
        ([{"a": 1}], [{"a": 1}]),
        (["{}", '{"a":1}'], [{"a": 1}]),
        ([{}, '{"a":1}'], [{"a": 1}]),
        (['{"a"', ":1}"], [{"a": 1}]),
        (['{"a":1}', '{"a": 1}'], [{"a": 1}]),
        (['{"a":1}{"b":2}'], [{"a": 1}, {"b": 2}]),
    ],
)
def test_arguments_are_taken_as_they_are_meant(arguments: list[object], expected: list[object]) -> None:
    events = [calls({"index": 0, "id": "a", "function": {"name": "Read", "arguments": a}}) for a in arguments]
    assert [found for _, found in uses(*events)] == expected


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a":',
        "[1]",
        '"text"',
        "3",
        "true",
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":' * 99 + "1" + "}" * 99,
        "{]",
        [1],
        3,
    ],
)
def test_broken_arguments_break_one_call_and_not_the_others(arguments: object) -> None:
    broken, good = message(
        delta(content="so far"),
        calls(piece(0, "a", "Read", arguments)),
        calls(piece(1, "b", "Bash", '{"command":"ls"}')),
        DONE,
    ).tool_uses
    assert broken.broken
    assert broken.input == {}
    assert broken.raw
    assert (good.broken, good.input) == (None, {"command": "ls"})


def test_a_call_without_a_name_is_broken() -> None:
    (use,) = message(calls(piece(0, "a", None, "{}")), DONE).tool_uses
    assert use.broken == "the call names no tool"


def test_text_and_calls_in_one_chunk_both_count() -> None:
    events = run(delta(content="I look.", tool_calls=[piece(0, "a", "Read", "{}")]), DONE)
    assert events == [TextDelta("I look."), ToolUseDelta(0, "a", "Read", "{}"), AnswerEnded("tool_use")]


def test_a_name_that_is_sent_twice_is_not_doubled_even_where_that_is_a_tool() -> None:
    sent = [calls(piece(0, "a", "go", "")), calls(piece(0, "a", "go", "{}"))]
    assert uses(*sent, tools=("go", "gogo")) == [("go", {})]
