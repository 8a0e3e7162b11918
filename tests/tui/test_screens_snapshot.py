"""Pictures of the screens at three sizes; `make snapshots` records them anew, and then somebody looks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from agent_tui.app import AgentTuiApp
from rooms_scene import form, offered, offered_scene, rooms, rooms_scene
from scene import ask, play, scene

SIZES = [(80, 24), (120, 36), (220, 60)]


async def help_screen(pilot: Pilot[None]) -> None:
    await play(pilot)
    await pilot.press("f1")
    await pilot.pause()


async def zoomed(pilot: Pilot[None]) -> None:
    await play(pilot)
    await pilot.press("f4")
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    "acts", [play, ask, help_screen, zoomed], ids=["dashboard", "approval", "help", "zoomed"]
)
def test_snapshot(
    snap_compare: Callable[..., bool], size: tuple[int, int], acts: Callable[[Pilot[Any]], Awaitable[None]]
) -> None:
    assert snap_compare(scene(), terminal_size=size, run_before=acts)


@pytest.mark.parametrize("size", [SIZES[0], SIZES[-1]], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("app", "acts"),
    [(rooms_scene, rooms), (scene, form), (offered_scene, offered)],
    ids=["rooms", "form", "trust"],
)
def test_snapshot_beside_the_panes(
    snap_compare: Callable[..., bool],
    size: tuple[int, int],
    app: Callable[[], AgentTuiApp],
    acts: Callable[[Pilot[Any]], Awaitable[None]],
) -> None:
    assert snap_compare(app(), terminal_size=size, run_before=acts)


@pytest.mark.parametrize("theme", ["paper", "beacon", "terminal"])
def test_snapshot_of_theme(snap_compare: Callable[..., bool], theme: str) -> None:
    app = scene()
    app.theme = theme
    assert snap_compare(app, terminal_size=(120, 36), run_before=ask)
