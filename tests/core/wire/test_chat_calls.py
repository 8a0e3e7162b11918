from __future__ import annotations

import pytest

from agent_tui_core.events import (
    AnswerEnded,
    TextDelta,
    ToolUseDelta,
)
from chunks import DONE, calls, delta, message, piece, run, sse, uses


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


@pytest.mark.parametrize("index", ["", "a", "1x", "\u0661", True, 1.5, [], {}])
def test_an_index_that_is_no_number_is_no_index(index: object) -> None:
    assert uses(calls(piece(index, "a", "Read", "{}"))) == [("Read", {})]


def test_an_index_may_be_written_as_a_string() -> None:
    found = uses(
        calls(piece("0", "a", "Read", '{"p"'), piece("1", "b", "Bash", '{"c"')),
        calls(piece("1", None, None, ":2}"), piece(0, None, None, ":1}")),
    )
    assert found == [("Read", {"p": 1}), ("Bash", {"c": 2})]


def test_the_first_choice_may_be_numbered_by_a_string() -> None:
    said = sse({"choices": [{"index": "1", "delta": {"content": "no"}}]})
    meant = sse({"choices": [{"index": "0", "delta": {"content": "yes"}}]})
    assert message(said, meant, DONE).text == "yes"


def test_a_custom_call_arrives_as_its_input() -> None:
    first = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "Bash", "input": 'say "\n'}}
    rest = {"index": 0, "custom": {"input": "\ud83d"}}, {"index": 0, "custom": {"input": "\ude00\\"}}
    other = piece(1, "b", "Read", '{"p":1}')
    found = uses(calls(first, other), *map(calls, rest))
    assert found == [("Bash", {"input": 'say "\n😀\\'}), ("Read", {"p": 1})]


def test_a_custom_call_without_input_has_an_empty_one() -> None:
    assert uses(calls({"id": "a", "type": "custom", "custom": {"name": "Bash"}})) == [("Bash", {"input": ""})]


def test_a_custom_call_that_was_cut_never_runs() -> None:
    first = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "Bash", "input": "rm -rf /tm"}}
    (use,) = message(calls(first), delta("length")).tool_uses
    assert use.broken


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
        (['"{\\"a', '\\":1}"'], [{"a": 1}]),
        (['{"a":"one\ntwo\t\x00"}'], [{"a": "one\ntwo\t\x00"}]),
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
