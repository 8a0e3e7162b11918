"""What a start does before the first frame, counted without a clock."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from textual._compositor import CompositorUpdate
from textual.app import App
from textual.css.stylesheet import Stylesheet

from dashboard_pilot import dashboard
from scripted_session import ScriptedSession, scripted_plan

ROOT = Path(__file__).resolve().parents[2]
PLACES = os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])
LATER = (
    *(
        "httpx",
        "httpcore",
        "httptools",
        "pydantic",
        "jsonschema",
        "pygments",
        "markdown_it",
        "tree_sitter_bash",
    ),
    *("agent_tui.panes.cards", "agent_tui.panes.prose", "agent_tui.panes.rendering", "agent_tui.panes.code"),
    *("agent_tui.modals", "agent_tui.doctor", "agent_tui.run", "agent_tui.screens.help"),
    *("agent_tui_core.agent.loop", "agent_tui_core.agent.calls", "agent_tui_core.agent.shell_rules"),
    *(
        "agent_tui_core.tools",
        "agent_tui_core.processes",
        "agent_tui_core.providers.http",
        "agent_tui_core.wire.sse",
    ),
)
"""What no first frame needs."""
IMPORTS = "import agent_tui.launch, agent_tui.app, agent_tui_core.runtime.session"


def said_by(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": PLACES},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def test_a_start_imports_nothing_that_the_first_frame_does_not_show() -> None:
    found = said_by(f"import sys; {IMPORTS}; print(*(name for name in {LATER!r} if name in sys.modules))")
    assert found == ""


def test_a_start_makes_every_value_the_quick_way() -> None:
    script = f"""
import sys
{IMPORTS}
for name, module in [*sys.modules.items()]:
    for cls in [*vars(module).values()] if name.startswith("agent_tui") else ():
        if isinstance(cls, type) and cls.__module__ == name and hasattr(cls, "__dataclass_fields__"):
            print(cls.__name__, "quick" if "__signature__" in vars(cls) else "slow")
"""
    made = [line.split() for line in said_by(script).splitlines()]
    assert len(made) > 90
    assert [name for name, way in made if way == "slow"] == []


async def test_the_first_frame_is_whole_and_styles_are_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: list[str] = []
    parsed: list[int] = []
    display, reparse = App._display, Stylesheet.reparse

    def displayed(app: App[object], screen: object, update: CompositorUpdate | None) -> None:
        if update is not None:
            frames.append(update.render_segments(Console(color_system=None, width=120)))
        display(app, screen, update)  # type: ignore[arg-type]  # as Textual calls it

    def counted(stylesheet: Stylesheet) -> None:
        parsed.append(1)
        reparse(stylesheet)

    monkeypatch.setattr(App, "_display", displayed)
    monkeypatch.setattr(Stylesheet, "reparse", counted)
    session = ScriptedSession(scripted_plan(tmp_path), "ann", "bob", "cyd", "dan")
    async with dashboard(session, size=(120, 36)):
        pass
    first = frames[0]
    for words in ("agent-tui", "4 agents", "^q quit", "Write to the agent"):
        assert words in _text(first)
    assert _text(first).count("Nothing asked yet") == 4
    assert parsed == []


def _text(update: str) -> str:
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", update)
