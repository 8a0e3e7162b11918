"""Owns what the registry of actions promises, without a screen."""

from __future__ import annotations

from textual.binding import Binding

from agent_tui.actions import ACTIONS, Actions
from agent_tui.app import AgentTuiApp
from agent_tui.screens.dashboard import DashboardScreen

TROUBLE = {"ctrl+b", "ctrl+h", "ctrl+i", "ctrl+m", "ctrl+left_square_bracket", "ctrl+s", "f5", "f10", "f11"}


def test_no_default_key_is_one_that_terminals_keep_for_themselves_or_bound_twice() -> None:
    keys = [key for action in ACTIONS for key in action.keys.split(",") if key]
    assert not TROUBLE.intersection(keys)
    assert len(keys) == len(set(keys))


def test_every_binding_comes_out_of_the_registry_and_has_its_id() -> None:
    bound = [*DashboardScreen.BINDINGS, *AgentTuiApp.BINDINGS]
    ids = {binding.id for binding in bound if isinstance(binding, Binding)}
    assert ids == {action.id for action in ACTIONS if action.action and action.keys}


def test_every_action_of_the_registry_exists() -> None:
    for action in ACTIONS:
        if action.action:
            name = action.action.split("(")[0]
            on_app = name.startswith("app.") or action.on_app
            owner = AgentTuiApp if on_app else DashboardScreen
            assert hasattr(owner, f"action_{name.removeprefix('app.')}"), action.id


def test_a_key_of_the_users_wins_over_the_default_key_of_another_action() -> None:
    actions = Actions({"zoom": "f6"})
    assert actions["zoom"].first_key == "f6"
    assert actions["next_agent"].first_key == ""
