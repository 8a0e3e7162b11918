"""What a program that builds on the library can count on: names, their words, what importing them costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import agent_tui_core

CORE = Path(agent_tui_core.__file__).parents[1]
LIGHT = (
    "Text",
    "Reasoning",
    "ToolUse",
    "ToolResult",
    "Image",
    "Message",
    "Usage",
    "safe_text",
    "visible_text",
)
HEAVY = {"httpx", "httpcore", "asyncio", "ssl", "sqlite3", "pydantic", "jsonschema"}


@pytest.mark.parametrize("name", agent_tui_core.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(agent_tui_core, name) is not None
    assert name in dir(agent_tui_core)


@pytest.mark.parametrize("name", sorted(set(agent_tui_core.__all__) - {"ContentBlock"}))
def test_a_public_name_and_all_it_offers_is_explained(name: str) -> None:
    thing = getattr(agent_tui_core, name)
    assert own_words(thing), name
    if not inspect.isclass(thing):
        return
    public = {key: value for key, value in vars(thing).items() if not key.startswith("_")}
    for key, value in public.items():
        if isinstance(value, property | staticmethod | classmethod) or inspect.isfunction(value):
            assert own_words(getattr(value, "__func__", value)), f"{name}.{key}"


def test_a_union_says_what_is_in_it() -> None:
    kinds = {kind.__name__ for kind in get_args(agent_tui_core.ContentBlock)}
    assert kinds == {"Text", "Reasoning", "ToolUse", "ToolResult", "Image"}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        agent_tui_core.nothing_like_it  # noqa: B018


@pytest.mark.parametrize("name", LIGHT)
def test_a_value_costs_no_http_client_and_no_event_loop(name: str) -> None:
    program = f"import sys; from agent_tui_core import {name}; print(*sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(CORE)},
    ).stdout
    assert {module.split(".")[0] for module in shown.split()} & HEAVY == set()


def own_words(thing: object) -> str:
    """The docstring; what dataclasses make of their fields does not count."""
    words = inspect.getdoc(thing) or ""
    name = getattr(thing, "__name__", "")
    return "" if words.startswith(f"{name}(") else words
