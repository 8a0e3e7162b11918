from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agent_tui.theming import remember_theme, remembered_theme
from dashboard_pilot import dashboard
from scripted_session import ScriptedSession, scripted_plan


def test_a_choice_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    assert remembered_theme(tmp_path) is None
    remember_theme(tmp_path, "paper")
    remember_theme(tmp_path, "ember")
    assert remembered_theme(tmp_path) == "ember"
    assert [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()] == [0o600]


@pytest.mark.parametrize("written", ["", "no such theme!", "x" * 200, "\x1b]0;x\x07"])
def test_nonsense_in_the_file_is_no_theme(written: str, tmp_path: Path) -> None:
    (tmp_path / "theme.txt").write_text(written)
    assert remembered_theme(tmp_path) is None


async def test_a_theme_that_was_chosen_is_there_at_the_next_start(tmp_path: Path) -> None:
    plan = scripted_plan(tmp_path)
    plan.data_dir.mkdir()
    async with dashboard(ScriptedSession(plan, "ann")) as driver:
        first = driver.app.theme
        driver.app.action_pick_theme()
        await driver.until(lambda: driver.app.screen is not driver.screen)
        await driver.press("down", "enter")
        chosen = driver.app.theme
        assert chosen != first
    async with dashboard(ScriptedSession(plan, "ann")) as driver:
        assert driver.app.theme == chosen


async def test_the_settings_file_goes_before_what_was_chosen(tmp_path: Path) -> None:
    plan = scripted_plan(tmp_path, theme="paper")
    plan.data_dir.mkdir()
    remember_theme(plan.data_dir, "ember")
    async with dashboard(ScriptedSession(plan, "ann")) as driver:
        assert driver.app.theme == "paper"
