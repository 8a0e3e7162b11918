import json

from hypothesis import given
from hypothesis import strategies as st

from agent_tui_core.blocks import Json
from agent_tui_core.wire.surrogates import DEEPEST, mended, mended_json, mended_object, mended_schema

TEXTS = st.text(st.sampled_from('a\\"{[ud8\ud83d\ude00\udfff\u00e9'), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_an_object_is_mended_as_its_parts_are(value: dict[str, Json]) -> None:
    assert mended_object(value) == {mended(key): mended_json(part) for key, part in value.items()}
    json.dumps(mended_object(value), ensure_ascii=False).encode()


def test_what_is_nested_too_deep_becomes_null() -> None:
    value: Json = "deep"
    for _ in range(DEEPEST + 3):
        value = {"inner": value}
    assert isinstance(value, dict)
    assert '"inner": null' in json.dumps(mended_object(value))


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_a_schema_is_mended_alike_however_often_it_is_sent(value: dict[str, Json]) -> None:
    assert mended_schema(value) == mended_schema(value) == mended_object(value)


def test_one_of_thousands_of_schemas_is_not_taken_for_another() -> None:
    for number in range(2_000):
        assert mended_schema({"title": f"{number}"}) == {"title": f"{number}"}
        assert mended_schema({"title": f"{number}\ud83d"}) == {"title": f"{number}\ufffd"}
