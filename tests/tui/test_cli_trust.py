"""Owns what `agent-tui trust` shows, asks and records; refuses a dashboard."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.cli import run

HOOKS = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch \u202epwned"}]}]}})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "repo"
    (place / ".agent-tui").mkdir(parents=True)
    (place / ".agent-tui/hooks.json").write_text(HOOKS)
    (place / "AGENTS.md").write_text("Use tabs.\n")
    monkeypatch.chdir(place)
    monkeypatch.setenv("AGENT_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(tmp_path / "data"))
    return place


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = run(["trust", *args])
    output = capsys.readouterr()
    return code, output.out + output.err


def answered(words: bytes) -> tuple[int, str]:
    """Run the real program at a terminal and type these words."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-m", "agent_tui", "trust"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
    )
    os.close(theirs)
    os.write(ours, words)
    said = b""
    try:
        while piece := os.read(ours, 4096):
            said += piece
    except OSError:
        pass
    os.close(ours)
    return program.wait(timeout=20), said.decode()


def is_trusted(capsys: pytest.CaptureFixture[str]) -> bool:
    return "(trusted)" in told(capsys, "--show")[1]


def test_it_shows_what_would_run_and_nothing_hides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, "--show")
    assert code == 0
    assert said.splitlines() == [
        f"{folder} (not trusted) brings along:",
        "  hook Stop runs: touch \\u{202e}pwned  (.agent-tui/hooks.json)",
        "  AGENTS.md is read by every agent: 1 line",
    ]
    assert not (folder.parent / "data/trust.json").exists()


@pytest.mark.parametrize(
    ("words", "wanted"), [(b"y\n", True), (b"yes\n", True), (b"\n", False), (b"ja\n", False)]
)
def test_only_a_clear_yes_is_one(words: bytes, wanted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = answered(words)
    assert "[y/N]" in said
    assert code == (0 if wanted else 1)
    assert is_trusted(capsys) is wanted


def test_without_a_terminal_nothing_is_trusted_by_accident(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent_tui", "trust"], input=b"y\n", capture_output=True, timeout=20
    )
    assert done.returncode == 2
    assert b"--yes" in done.stderr
    assert not is_trusted(capsys)


def test_yes_trusts_this_content_and_a_changed_byte_asks_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "--yes")[0] == 0
    assert is_trusted(capsys)
    (folder / "AGENTS.md").write_text("Use tab.\n")
    assert not is_trusted(capsys)


def test_trust_can_be_taken_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "--forget")[0] == 1
    told(capsys, "--yes")
    assert told(capsys, str(folder), "--forget")[0] == 0
    assert not is_trusted(capsys)


def test_a_folder_that_brings_nothing_needs_no_trust(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    code, said = told(capsys, str(tmp_path / "empty"))
    assert (code, "nothing to trust" in said) == (0, True)
    assert told(capsys, str(tmp_path / "none"))[0] == 2
    assert told(capsys, "--yes", "--show")[0] == 2
