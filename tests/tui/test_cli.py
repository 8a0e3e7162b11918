"""The command line without a terminal: help, versions, refusals and their exit codes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.cli import run
from development import DEVELOPMENT

ROOT = Path(__file__).resolve().parents[2]
PLACES = os.pathsep.join([str(ROOT / "core"), str(ROOT / "tui")])


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENT_TUI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENT_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(tmp_path / "data"))


class Terminal(io.StringIO):
    """Says that it is a terminal, so that a start gets as far as its settings."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run_in_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], int]:
    def run_there(args: list[str]) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", Terminal())
            patch.setattr(sys, "stdout", Terminal())
            patch.setattr(sys, "__stderr__", Terminal())
            return run(args)

    return run_there


def test_help_is_narrow_names_each_option_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines()) < 100
    for option in (
        *("-a, --agent", "-n, --agents", "-m, --model", "--base-url", "-C, --workspace", "--config"),
        *("--data-dir", "--theme", "--demo", "--resume", "--version", "doctor", "Examples:"),
    ):
        assert option in shown


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("agent-tui ")


@pytest.mark.parametrize("flag", ["--help", "--version", "--wrong"])
def test_a_quick_answer_imports_nothing_heavy(flag: str) -> None:
    script = f"""
import sys
from agent_tui.cli import run
run([{flag!r}])
heavy = {{"textual", "rich", "httpx", "pydantic", "sqlite3", "asyncio", "jsonschema"}}
sys.exit(f"imports {{heavy & sys.modules.keys()}}" if heavy & sys.modules.keys() else 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=DEVELOPMENT | {"PYTHONPATH": PLACES},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--agnt"], "--agent"),
        (["-n", "many"], "many"),
        (["two", "words"], "put it in quotes"),
        (["--model"], "requires an argument"),
    ],
)
def test_a_mistyped_command_line_is_exit_code_2(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(args) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert "--help" in shown.err
    assert not shown.out


def test_without_a_terminal_a_start_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "needs a terminal" in capsys.readouterr().err


def test_output_into_a_pipe_is_refused_though_keys_could_be_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert run([]) == 2
    assert "its output is none" in capsys.readouterr().err


def test_a_redirected_error_output_is_refused_because_the_screen_would_go_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(sys, "__stderr__", io.StringIO())
    assert run([]) == 2
    assert "its error output is none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--config", "missing.toml"], "missing.toml: there is no such settings file"),
        (["-n", "0"], "--agents: should be from 1 to 64"),
        (["-C", "missing"], "--workspace: there is no folder"),
        (["-a", "ann=reviewer"], "there is no profile 'reviewer'"),
        (["--base-url", "localhost"], "--base-url: should start with http://"),
        (["--demo", "-m", "x"], "leave out --demo or --model"),
        (["--resume", "fix the bug"], "put the prompt before --resume"),
        (["go on", "--resume", "../../etc"], "is no id of a session"),
    ],
)
def test_settings_that_cannot_be_used_are_one_message_and_exit_code_2(
    args: list[str],
    said: str,
    run_in_terminal: Callable[[list[str]], int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_in_terminal(args) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("agent-tui: ")
    assert said in shown
    assert "Traceback" not in shown
    assert len(shown.splitlines()) == 1


def test_a_key_that_no_action_has_names_the_nearest(
    tmp_path: Path, run_in_terminal: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[keys]\nzom = "f5"\n')
    assert run_in_terminal([]) == 2
    assert "keys.zom: there is no action 'zom'; did you mean 'zoom'?" in capsys.readouterr().err


def test_a_data_folder_that_cannot_be_made_is_refused(
    tmp_path: Path, run_in_terminal: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run_in_terminal(["--data-dir", str(tmp_path / "file" / "data")]) == 2
    assert "nothing can be written" in capsys.readouterr().err


def test_an_escape_sequence_in_an_argument_never_reaches_the_terminal(
    run_in_terminal: Callable[[list[str]], int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for args in (["--resume", "\x1b]0;x\x07"], ["-a", "a=\x1b[2J"], ["--config", "\x1b[2J"], ["--\x1b[2J"]):
        assert run_in_terminal(args) == 2
        assert "\x1b" not in capsys.readouterr().err
