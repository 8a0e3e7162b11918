from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from agent_tui_core.config.load import load_settings
from loopback import DONE, Answer, LoopbackServer, finish, say, text, tool_call

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, about: str) -> str:
    found = [code for code in re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL) if about in code]
    assert len(found) == 1
    return str(found[0])


async def test_the_library_example_runs_as_it_is_written(tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(block("python", "async def main"), encoding="utf-8")
    calls = Answer(text("Adding. "), tool_call("c", "add", {"a": 17, "b": 25}), finish("tool_calls"), DONE)
    async with LoopbackServer([calls, say("It is 42.")]) as server:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "error",
            str(program),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "OPENAI_BASE_URL": server.base_url, "PYTHONPATH": ":".join(sys.path)},
        )
        async with asyncio.timeout(30):
            printed, _ = await child.communicate()
    assert child.returncode == 0
    assert "It is 42." in printed.decode()
    assert "[completed" in printed.decode()
    assert server.requests[1].json["messages"][-1]["content"] == "42.0"


def test_the_settings_example_is_a_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block("toml", "[providers.local]"), encoding="utf-8")
    settings = load_settings(file, environ={})
    assert set(settings.agents) == {"coder", "reviewer"}


def test_the_servers_example_is_a_settings_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block("toml", "[mcp.servers.git]"), encoding="utf-8")
    assert set(load_settings(file, environ={}).mcp.servers) == {"git", "tracker"}


def test_the_keys_of_the_settings_example_are_actions() -> None:
    from agent_tui.actions import ACTIONS

    named = tomllib.loads(block("toml", "[providers.local]"))["keys"]
    assert set(named) <= {action.id for action in ACTIONS}


def test_every_option_that_the_readme_names_exists() -> None:
    shown = "".join(
        subprocess.run(
            [sys.executable, "-m", "agent_tui", *word, "--help"], capture_output=True, text=True, check=True
        ).stdout
        for word in (
            [],
            ["run"],
            ["sessions"],
            ["export"],
            *(["rules", name] for name in ("test", "list", "add", "remove")),
            ["trust"],
            ["mcp", "probe"],
            ["hooks", "import"],
            ["tool-result"],
        )
    )
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) - {"--editable", "--channel"}:
        assert option in shown, option


def test_the_picture_in_the_readme_is_there() -> None:
    [picture] = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert (ROOT / picture).is_file()
