"""How a model is asked, in each protocol: what is sent, what is refused and in which words."""

from typing import Any

import pytest

from agent_tui_core.blocks import JsonObject, Text
from agent_tui_core.messages import Message, ModelRequest, RequestOptions
from agent_tui_core.wire.request_options import as_json, from_json, problem_with, with_extra
from protocols import CHAT, MESSAGES, RESPONSES, Speech

ASK = [Message("user", (Text("hi"),))]


@pytest.mark.parametrize(
    ("speech", "options", "sent"),
    [
        (
            CHAT,
            RequestOptions(temperature=0, top_p=0.5, stop=("A", "B"), seed=7, reasoning_effort="minimal"),
            {"temperature": 0, "top_p": 0.5, "stop": ["A", "B"], "seed": 7, "reasoning_effort": "minimal"},
        ),
        (
            MESSAGES,
            RequestOptions(temperature=1, top_p=0.5, stop=("A",), reasoning_effort="max"),
            {"temperature": 1, "top_p": 0.5, "stop_sequences": ["A"], "output_config": {"effort": "max"}},
        ),
        (
            RESPONSES,
            RequestOptions(temperature=2, top_p=1, reasoning_effort="none"),
            {"temperature": 2, "top_p": 1, "reasoning": {"effort": "none"}},
        ),
    ],
)
def test_each_protocol_has_its_own_words(
    speech: Speech, options: RequestOptions, sent: dict[str, Any]
) -> None:
    plain = speech.body(ModelRequest("m", ASK))
    made = speech.body(ModelRequest("m", ASK, options=options))
    assert {name: value for name, value in made.items() if name not in plain} == sent
    assert problem_with(options, speech.name) is None
    assert from_json(as_json(options), speech.name) == options


@pytest.mark.parametrize(
    ("protocol", "wrong", "name", "why"),
    [
        ("chat", {"temperature": "hot"}, "temperature", "a number from 0 to 2, not 'hot'"),
        ("chat", {"temperature": True}, "temperature", "a number"),
        ("chat", {"temperature": float("nan")}, "temperature", "a number from 0 to 2, not nan"),
        ("chat", {"top_p": 1.1}, "top_p", "from 0 to 1, not 1.1"),
        ("chat", {"stop": "END"}, "stop", "a list of texts"),
        ("chat", {"stop": [""]}, "stop", "a list of texts"),
        ("chat", {"stop": ["x"] * 17}, "stop", "at most 16"),
        ("chat", {"seed": 1.5}, "seed", "a whole number"),
        ("chat", {"seed": 2**63}, "seed", "a whole number"),
        ("chat", {"reasoning_effort": "hard"}, "reasoning_effort", "'high', 'xhigh' or 'max', not 'hard'"),
        ("chat", {"think_tags": "yes"}, "think_tags", "true, false or 'open', not 'yes'"),
        ("chat", {"extra_body": [1]}, "extra_body", "a table"),
        ("chat", {"extra_body": {"messages": []}}, "extra_body", "'messages'"),
        ("chat", {"extra_body": {"a": {1, 2}}}, "extra_body", "a set, which is not JSON"),
        ("chat", {"extra_body": {"a": float("inf")}}, "extra_body", "not JSON"),
        ("chat", {"extra_body": {"a": {1: 2}}}, "extra_body", "no text"),
        ("anthropic", {"seed": 1}, "seed", "no such field"),
        ("anthropic", {"temperature": 1.5}, "temperature", "0 to 1"),
        ("anthropic", {"reasoning_effort": "minimal"}, "reasoning_effort", "'low'"),
        ("anthropic", {"stop": ["\n"]}, "stop", "blank"),
        ("responses", {"seed": 1}, "seed", "no such field"),
        ("responses", {"stop": ["A"]}, "stop", "no such field"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_words(
    protocol: Any, wrong: dict[str, Any], name: str, why: str
) -> None:
    problem = problem_with(RequestOptions(**wrong), protocol)
    assert problem is not None
    assert problem[0] == name
    assert why in problem[1]


def test_a_body_that_is_too_deep_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"a": deep}
    problem = problem_with(RequestOptions(extra_body=deep), "chat")
    assert problem is not None
    assert "deep" in problem[1]


def test_tables_are_merged_and_what_was_given_stays_as_it_was() -> None:
    first: JsonObject
    second: JsonObject
    first, second = {"a": {"b": 1, "c": {"d": 1}}}, {"a": {"c": {"e": 2}}, "f": 3}
    assert with_extra({"a": {"b": 0}}, first, second) == {"a": {"b": 1, "c": {"d": 1, "e": 2}}, "f": 3}
    assert (first, second) == ({"a": {"b": 1, "c": {"d": 1}}}, {"a": {"c": {"e": 2}}, "f": 3})


@pytest.mark.parametrize("stored", [None, [], {"temperature": "hot"}, {"alien": 1}, {"stop": 7}])
def test_what_history_has_wrong_is_left_out(stored: Any) -> None:
    assert from_json(stored, "chat") == RequestOptions()
