"""What a flat JSON Schema becomes, and what a person's words become: no schema and no word is an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.modals.fields import FormField, fields_of, filled


def _one(schema: dict[str, Any], *, required: bool = True) -> FormField:
    [field] = fields_of({"properties": {"x": schema}, "required": ["x"] if required else []})
    return field


def _read(schema: dict[str, Any], written: str) -> tuple[object, str]:
    content, wrong = filled([_one(schema)], {"x": written})
    return content.get("x"), wrong.get("x", "")


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        ({"type": "string"}, " as it is ", " as it is "),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", "abc"),
        ({"type": "string", "format": "email"}, "ada@example.org", "ada@example.org"),
        ({"type": "string", "format": "uri"}, "https://example.org", "https://example.org"),
        ({"type": "string", "format": "date"}, "2026-01-31", "2026-01-31"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ({"type": "string", "format": "of another world"}, "x", "x"),
        ({"type": "integer"}, " 42 ", 42),
        ({"type": "integer", "minimum": -1, "maximum": 1}, "-1", -1),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "3", 3),
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "no", False),
        ({"enum": ["a", "b"]}, "b", "b"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["a", "b"], "enumNames": ["First", "Second"]}, "Second", "b"),
        ({"oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]}, "Red", "r"),
        ({"enum": ["same", "same"]}, "same (2)", "same"),
        ({"type": "array"}, '["a"]', ["a"]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({}, "null", None),
    ],
)
def test_what_fits_becomes_the_value_that_was_meant(
    schema: dict[str, Any], written: str, value: object
) -> None:
    assert _read(schema, written) == (value, "")


@pytest.mark.parametrize(
    ("schema", "written", "words"),
    [
        ({"type": "integer"}, "1.5", "a whole number"),
        ({"type": "integer"}, "1_000", "a whole number"),
        ({"type": "integer"}, "٣x", "a whole number"),
        ({"type": "number"}, "nan", "a number"),
        ({"type": "number"}, "1e999", "a number"),
        ({"type": "number", "minimum": 2}, "1", "at least 2"),
        ({"type": "number", "maximum": 2}, "3", "at most 2"),
        ({"type": "string", "minLength": 2}, "a", "at least 2 characters"),
        ({"type": "string", "maxLength": 2}, "abc", "at most 2 characters"),
        ({"type": "string", "format": "email"}, "ada", "an address"),
        ({"type": "string", "format": "date"}, "tomorrow", "a date"),
        ({"type": "array"}, "a, b", "JSON"),
        ({"type": "array"}, "[" * 100_000, "JSON"),
        ({"type": "string"}, "   ", "has to be filled in"),
    ],
)
def test_what_does_not_fit_is_told_in_words(schema: dict[str, Any], written: str, words: str) -> None:
    assert words in _read(schema, written)[1]


def test_what_is_optional_and_empty_is_left_out() -> None:
    field = _one({"type": "integer"}, required=False)
    assert filled([field], {"x": " "}) == ({}, {})


def test_a_default_stands_there_as_a_person_would_write_it() -> None:
    assert _one({"type": "boolean", "default": True}).start == "yes"
    assert _one({"type": "integer", "default": 3}).start == "3"
    assert _one({"enum": ["a", "b"], "default": "b"}).start == "b"
    assert _one({"type": "string", "default": 5}).start == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
keywords = st.sampled_from(
    [
        "type",
        "enum",
        "enumNames",
        "oneOf",
        "default",
        "title",
        "description",
        "minimum",
        "minLength",
        "format",
    ]
)


@given(
    schema=st.fixed_dictionaries(
        {
            "properties": st.dictionaries(
                st.text(max_size=6), st.dictionaries(keywords, json_values, max_size=6)
            ),
            "required": json_values,
        }
    ),
    written=st.text(max_size=20),
)
def test_no_schema_and_no_words_break_a_form(schema: dict[str, Any], written: str) -> None:
    fields = fields_of(schema)
    content, wrong = filled(fields, {field.key: written for field in fields})
    json.dumps(content)
    assert not content.keys() & wrong.keys()


@given(schema=json_values)
def test_a_schema_that_is_no_schema_has_no_fields_or_odd_ones(schema: Any) -> None:
    fields_of(schema if isinstance(schema, dict) else {})
    fields_of({"properties": schema, "required": schema})
