"""Owns what the soaked program is told: its settings file, its workspace and its environment.

Refuses to start anything. Rules answer most calls, a few go to the desk, hooks run beside some.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fault_kinds import SECRET

PROFILES: Final = ("steady", "steady", "shaky", "small", "steady", "shaky", "auto")
"""What the agents are made from, in turns."""
KEY_VARIABLE: Final = "FAULT_KEY"
_FOREIGN: Final = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "AGENT_TUI_MODEL", "NO_COLOR")


def profile_of(seat: int) -> str:
    """The profile of the agents that sit here one after the other."""
    return PROFILES[seat % len(PROFILES)]


def prepare(folder: Path, good: str, broken: str, agents: int) -> None:
    """Write settings and workspace for this many agents."""
    workspace, config = folder / "workspace", folder / "config"
    workspace.mkdir()
    config.mkdir()
    (workspace / "notes.md").write_text("# Notes\n\n" + "Something to read.\n" * 200)
    seats = ", ".join(f'"{profile_of(seat)}"' for seat in range(agents))
    (config / "config.toml").write_text(
        f"""
[providers.good]
base_url = "{good}"
models = ["m"]
[providers.broken]
base_url = "{broken}"
models = ["m"]
api_key_env = "{KEY_VARIABLE}"
[agents.steady]
provider = "good"
[agents.shaky]
provider = "broken"
[agents.small]
provider = "good"
context_limit = 6000
[agents.auto]
provider = "good"
mode = "auto"
[dashboard]
agents = [{seats}]
[permissions]
allow = ["Edit", "Write", "Bash(echo *)", "Bash(seq *)", "Bash(sleep *)"]
deny = ["Bash(curl *)"]
[[hooks.PreToolUse]]
matcher = "Write"
command = "cat > /dev/null"
[[hooks.PostToolUse]]
matcher = "Edit"
command = "cat > /dev/null"
"""
    )


def environment(folder: Path) -> Mapping[str, str]:
    """What the soaked program inherits: this terminal's things, none of its keys, folders of its own."""
    here = Path(__file__).resolve().parent
    paths = [here, here.parent / "core", here.parent / "tui", here.parent / "tests"]
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return kept | {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "AGENT_TUI_CONFIG_DIR": str(folder / "config"),
        "AGENT_TUI_DATA_DIR": str(folder / "data"),
        KEY_VARIABLE: SECRET,
    }
