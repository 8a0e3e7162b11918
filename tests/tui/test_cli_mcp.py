"""`agent-tui mcp` as a person runs it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui import cli
from mcp_servers import SCRIPT, group_lives, until

TASK_SCRIPT = SCRIPT.with_name("mcp_task_server.py")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "server").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path


def configure(home: Path, *modes: str, more: str = "", script: Path = SCRIPT) -> None:
    arguments = ["-S", "-E", str(script), str(home / "server"), *modes]
    lines = [
        "[mcp.servers.test]",
        f"command = {json.dumps(sys.executable)}",
        f"args = {json.dumps(arguments)}",
        more,
    ]
    (home / "config" / "config.toml").write_text("\n".join(lines))


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


AgentTui = Callable[..., Done]


@pytest.fixture
def agent_tui(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> AgentTui:
    """The command in this process: each start of a new one would import the SDK again."""
    monkeypatch.setenv("AGENT_TUI_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(home / "data"))
    monkeypatch.chdir(home / "work")

    def run(*arguments: str) -> Done:
        code = cli.run(arguments)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return run


def test_without_servers_it_says_how_to_add_one(home: Path, agent_tui: AgentTui) -> None:
    done = agent_tui("mcp")
    assert (done.returncode, done.stdout) == (
        0,
        "No MCP server is configured. agent-tui mcp --help shows how.\n",
    )


def test_the_list_starts_nothing_and_hides_what_may_be_secret(home: Path, agent_tui: AgentTui) -> None:
    configure(home, more='[mcp.servers.web]\nurl = "https://example.org/mcp?project=x"\ndisabled = true\n')
    done = agent_tui("mcp", "list")
    assert done.returncode == 0
    assert "https://example.org/mcp\n" in done.stdout
    assert "project" not in done.stdout
    assert "your settings · disabled" in done.stdout
    assert not (home / "server" / "pids").exists()


def test_a_probe_shows_the_tools_without_a_control_character_and_leaves_nothing(
    home: Path, agent_tui: AgentTui
) -> None:
    configure(home, "controls")
    done = agent_tui("mcp", "probe", "test")
    assert done.returncode == 0, done.stderr
    assert "test: ready in" in done.stdout
    assert "scripted 1, MCP 2025-06-18" in done.stdout
    assert "mcp__test__echo" in done.stdout
    assert not [char for char in done.stdout if ord(char) < 32 and char != "\n"]
    assert not group_lives(int((home / "server" / "pids").read_text()))


def test_a_probe_of_a_server_that_dies_says_its_last_words(home: Path, agent_tui: AgentTui) -> None:
    configure(home, "dies")
    done = agent_tui("mcp", "probe", "test")
    assert done.returncode == 1
    assert "the MCP server test did not start: it ended with exit code 3: KeyError" in done.stderr
    assert "\x1b" not in done.stderr


def test_changed_tools_are_told_until_they_are_accepted(home: Path, agent_tui: AgentTui) -> None:
    configure(home)
    assert "these are the tools that you know" in agent_tui("mcp", "probe", "test").stdout
    (home / "server" / "tools.json").write_text('[{"name": "more", "inputSchema": {"type": "object"}}]')
    shown = agent_tui("mcp", "probe", "test").stdout
    assert "changed since you allowed them (new: more)" in shown
    other = agent_tui("mcp", "probe", "test", "--accept", "0123456789abcdef")
    assert (other.returncode, other.stdout) == (1, "")
    key = shown.partition("--accept ")[2].split()[0]
    assert "accepted now (new: more)" in agent_tui("mcp", "probe", "test", "--accept", key).stdout
    assert "these are the tools that you know" in agent_tui("mcp", "probe", "test").stdout


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_no_server_is_left_when_a_probe_is_ended(home: Path, number: int) -> None:
    configure(home, "silent", "stubborn" if number != signal.SIGKILL else "")
    environment = {
        **os.environ,
        "AGENT_TUI_CONFIG_DIR": str(home / "config"),
        "AGENT_TUI_DATA_DIR": str(home / "data"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agent_tui", "mcp", "probe", "test", env=environment, cwd=home / "work"
    )
    await until((home / "server" / "heard.jsonl").exists)
    program.send_signal(number)
    async with asyncio.timeout(20):
        assert await program.wait() in {-signal.SIGKILL, 128 + signal.SIGTERM, 128 + signal.SIGINT}
    await until(lambda: not group_lives(int((home / "server" / "pids").read_text())))


def test_a_server_that_is_not_there_names_those_that_are(home: Path, agent_tui: AgentTui) -> None:
    configure(home)
    done = agent_tui("mcp", "probe", "tset")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no MCP server 'tset'; there is: test" in done.stderr


def test_a_server_of_a_folder_that_is_not_trusted_is_listed_and_not_started(
    home: Path, agent_tui: AgentTui
) -> None:
    (home / "work" / ".agent-tui").mkdir()
    table = f"[mcp.servers.theirs]\ncommand = {json.dumps(sys.executable)}\nargs = []\n"
    (home / "work" / ".agent-tui" / "settings.toml").write_text(table)
    listed = agent_tui("mcp")
    assert "you did not trust this folder" in listed.stdout
    done = agent_tui("mcp", "probe", "theirs")
    assert done.returncode == 2
    assert "you did not trust this folder" in done.stderr


@pytest.mark.parametrize("options", [("mcp", "{}", "list"), ("mcp", "list", "{}"), ("mcp", "{}")])
def test_the_settings_that_are_named_are_read_wherever_the_option_stands(
    home: Path, agent_tui: AgentTui, options: tuple[str, ...]
) -> None:
    configure(home)
    (home / "other.toml").write_text('[mcp.servers.other]\ncommand = "true"\n')
    named = ["--config", str(home / "other.toml")]
    arguments = [word for option in options for word in (named if option == "{}" else [option])]
    done = agent_tui(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("other")


def test_a_folder_for_data_before_the_subcommand_is_where_a_probe_keeps_what_it_met(
    home: Path, agent_tui: AgentTui
) -> None:
    configure(home)
    assert agent_tui("mcp", "--data-dir", str(home / "elsewhere"), "probe", "test").returncode == 0
    assert (home / "elsewhere" / "mcp-servers.json").exists()
    assert not (home / "data" / "mcp-servers.json").exists()


def test_a_probe_says_which_tools_are_not_offered_and_why(home: Path, agent_tui: AgentTui) -> None:
    configure(home, "no-tasks", script=TASK_SCRIPT)
    done = agent_tui("mcp", "probe", "test")
    assert "not offered, because they only run as tasks and this server runs none: research" in done.stdout
    assert "mcp__test__read_resource" in done.stdout
