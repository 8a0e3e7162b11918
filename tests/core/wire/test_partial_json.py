from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core.wire.partial_json import MOST_OBJECTS, parse_arguments, partial_object
from agent_tui_core.wire.surrogates import HalfKeeper, mended

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(), values, max_size=5)


@given(objects, st.booleans())
def test_a_whole_object_is_read_as_it_is(value: dict[str, Any], ascii_only: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only)
    assert partial_object(raw) == value
    assert parse_arguments(raw) == ([value], None)


@given(objects, st.booleans(), st.data())
def test_a_cut_object_shows_a_beginning_and_is_never_arguments(
    value: dict[str, Any], ascii_only: bool, data: st.DataObject
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only)
    cut = raw[: data.draw(st.integers(1, len(raw) - 1))]
    assert is_beginning(partial_object(cut), value)
    assert parse_arguments(cut)[1] is not None


def is_beginning(part: Any, whole: Any) -> bool:
    """Whether `part` could have grown into `whole`; only the last thing in it may be incomplete."""
    if isinstance(part, dict) and isinstance(whole, dict):
        keys = list(part)
        done = all(part[key] == whole[key] for key in keys[:-1])
        return (
            keys == list(whole)[: len(keys)]
            and done
            and all(is_beginning(part[k], whole[k]) for k in keys[-1:])
        )
    if isinstance(part, list) and isinstance(whole, list):
        done = part[:-1] == whole[: len(part) - 1] if part else True
        return done and all(
            is_beginning(a, b) for a, b in zip(part[-1:], whole[len(part) - 1 :], strict=False)
        )
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return bool(part == whole)


@given(st.text(alphabet='{}[]",:\\u0d8e1tfn \ud83d'))
def test_nothing_makes_the_readers_raise(raw: str) -> None:
    partial_object("{" + raw).__repr__().encode()
    objects, broken = parse_arguments("{" + raw)
    assert bool(objects) == (broken is None)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"command": "ls -', {"command": "ls -"}),
        ('{"command": "a\\', {"command": "a"}),
        ('{"command": "a\\u00e', {"command": "a"}),
        ('{"command": "a\\ud83d', {"command": "a"}),
        ('{"command": "a\nb', {"command": "a\nb"}),
        ('{"command": "a", "ti', {"command": "a"}),
        ('{"a": 10', {}),
        ('{"a": 10,', {"a": 10}),
        ('{"a": tru', {}),
        ('{"a": {"b": ["c', {"a": {"b": ["c"]}}),
        ('{"a": "x" oops', {"a": "x"}),
        ('{"a": 1, "a": 2', {"a": 1}),
        ('{}{"a": "b', {"a": "b"}),
        ("{", {}),
        ("", {}),
        ("[1, 2", {}),
        (r'"{\"command\": \"ls -', {"command": "ls -"}),
        (r'"{\"command\": \"a\\nb\"}"', {"command": "a\nb"}),
        (r'"\"{}', {}),
        ('{"command": "a\n\x01b"}', {"command": "a\n\x01b"}),
        ("null", {}),
        ('{"a": ' + "[" * 10_000, None),
        ('{"a": ' * 10_000, None),
        ('{"a": ' + "9" * 10_000 + ",", {}),
    ],
)
def test_a_preview_shows_what_can_be_read(raw: str, expected: dict[str, Any] | None) -> None:
    shown = partial_object(raw)
    assert expected is None or shown == expected


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ('{"a": 1', "delimiter"),
        ("[1]", "a list, not an object"),
        ('"text"', "a string, not an object"),
        ('""', "a string, not an object"),
        ('"null"', "a string, not an object"),
        (r'"{\"a\": 1', "Unterminated"),
        (r'"{\"a\": 1"', "delimiter"),
        (r'"{\"a\": 1}{\"b\": 1}"', "a string, not an object"),
        (r'"{\"a\": 1}" {}', "Extra data"),
        (r'"{\"a\": 1, \"a\": 2}"', "'a' is there twice"),
        (json.dumps(json.dumps('{"a": 1}')), "a string, not an object"),
        (json.dumps('{"a": ' * 65 + "1" + "}" * 65), "deep"),
        ("1", "a number"),
        ("false", "a boolean"),
        ("{}null", "null"),
        ('{"a": 1} and more', "Expecting value"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' is there twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "out of range"),
        ('{"a": ' + "9" * 9_999 + "}", "out of range"),
        ('{"a": ' * 65 + "1" + "}" * 65, "deep"),
        ("[" * 1_000_000, "deep"),
        ('{"a":0}'.join(["", *[""] * (MOST_OBJECTS + 1)]), "more than 64 objects"),
    ],
)
def test_broken_arguments_say_why(raw: str, why: str) -> None:
    objects, broken = parse_arguments(raw)
    assert objects == []
    assert broken is not None
    assert why in broken
    assert len(broken) < 300


@given(objects, st.booleans())
def test_what_was_encoded_twice_is_decoded_once(value: dict[str, Any], ascii_only: bool) -> None:
    raw = json.dumps(json.dumps(value, ensure_ascii=ascii_only), ensure_ascii=ascii_only)
    assert parse_arguments(f" {raw}\n") == ([value], None)
    assert partial_object(raw) == value


@given(st.text(alphabet=[chr(code) for code in range(0x20)] + ["a", "\x7f", "\u2028"]))
def test_control_characters_in_a_string_are_taken_as_they_are(text: str) -> None:
    raw = '{"a": "' + text + '"}'
    assert parse_arguments(raw) == ([{"a": text}], None)
    assert partial_object(raw) == {"a": text}


def test_true_is_not_one() -> None:
    assert parse_arguments('{"a": 1}{"a": true}') == ([{"a": 1}, {"a": True}], None)


def test_half_characters_in_arguments_are_mended_in_values_and_keys() -> None:
    assert parse_arguments('{"a\\udc00": ["\\ud83d", "\\ud83d\\ude00"]}') == (
        [{"a\ufffd": ["\ufffd", "😀"]}],
        None,
    )


@pytest.mark.parametrize("filling", ['\\"', '"', "\\", "[", "{", "a", '":"', "\\u0041", "é"])
def test_five_megabytes_are_no_reason_to_hang(filling: str) -> None:
    raw = '{"a": "' + filling * (5_000_000 // len(filling))
    begun = time.process_time()
    partial_object(raw)
    parse_arguments(raw)
    assert time.process_time() - begun < 10


@given(st.lists(st.text(alphabet="a\ud83d\ude00é")))
def test_a_text_in_pieces_is_mended_like_the_whole(pieces: list[str]) -> None:
    keeper = HalfKeeper()
    assert "".join([keeper.feed(piece) for piece in pieces]) + keeper.close() == mended("".join(pieces))
