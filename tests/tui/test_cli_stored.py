"""`agent-tui sessions` and `agent-tui export`: what was kept, for its owner; nothing is overwritten."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.cli import run
from agent_tui_core.history.store import History
from agent_tui_core.messages import new_id
from headless_program import environment
from stored_turns import acted, said


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def stored(tmp_path: Path) -> list[str]:
    """Two sessions, oldest first."""

    async def keep() -> list[str]:
        history = await History.open(tmp_path / "data" / "history.db")
        ids = []
        for words in ("first\x1b[2J words", "second words"):
            session = await history.start_session("/work\x1b[2J/place")
            ids.append(session)
            for number, name in enumerate(("ann", "rob"), 1):
                talk = await history.add_conversation(
                    session, agent_id=f"{session}{number}", name=name, position=number, profile={}
                )
                await history.record(talk, new_id(), *said(words))
                await history.record(talk, new_id(), *acted("ls"))
        await history.close()
        return ids

    return asyncio.run(keep())


def test_sessions_are_listed_newest_first_with_nothing_that_moves_the_terminal(
    stored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sessions"]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert [line.split()[0] for line in lines] == [stored[1][:12], stored[0][:12]]
    assert "second words" in lines[0]
    assert "/work/place" in lines[0]
    assert "\x1b" not in shown
    assert run(["sessions", "-n", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_where_nothing_was_kept_nothing_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sessions"]) == 0
    shown = capsys.readouterr()
    assert not shown.out
    assert "no session yet" in shown.err
    assert run(["export", "newest"]) == 1
    assert not (tmp_path / "data").exists()


def test_an_export_holds_all_agents_in_both_forms(
    stored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", stored[0][:8]]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# `ann`")
    assert "\n# `rob`" in text
    assert "> first words" in text
    assert "\x1b" not in text
    assert run(["export", "newest", "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["agent_id"] for line in lines} == {f"{stored[1]}1", f"{stored[1]}2"}
    assert lines[0]["type"] == "RunStarted"


def test_an_export_into_a_file_is_private_and_overwrites_nothing(
    stored: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "talk.md"
    assert run(["export", "newest", "-o", str(file)]) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_text()
    assert run(["export", stored[0], "-o", str(file)]) == 1
    assert "exists" in capsys.readouterr().err
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["export"], 2, "SESSION"),
        (["export", "../etc"], 2, "is no id"),
        (["export", "newest", "--format", "pdf"], 2, "pdf"),
        (["sessions", "-n", "0"], 2, "0"),
        (["export", "ffffffffffff"], 1, "no session begins with"),
        (["--demo", "sessions"], 2, "agent-tui sessions"),
        (["--demo", "run"], 2, "agent-tui run"),
        (["--", "run"], 2, "needs a terminal"),
        (["--", "sessions"], 2, "needs a terminal"),
    ],
)
def test_what_cannot_be_done_is_one_message(
    args: list[str], code: int, said: str, stored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(args) == code
    shown = capsys.readouterr()
    assert said in shown.err
    assert not shown.out


@pytest.mark.parametrize("word", ["run", "sessions", "export"])
def test_each_command_has_help_with_its_own_name(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([word, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: agent-tui {word} ")
    assert max(len(line) for line in shown.splitlines()) < 100


@pytest.mark.parametrize("command", [["sessions"], ["export", "newest"]])
def test_output_that_cannot_be_written_is_one_message_and_a_reader_that_left_none(
    command: list[str], stored: list[str], tmp_path: Path
) -> None:
    program = [sys.executable, "-m", "agent_tui", *command]
    environ = environment(tmp_path)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(program, env=environ, stdout=full, stderr=subprocess.PIPE, timeout=30)
    assert done.returncode == 1
    assert done.stderr.startswith(b"agent-tui: ")
    assert len(done.stderr.splitlines()) == 1
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as left:
        done = subprocess.run(program, env=environ, stdout=left, stderr=subprocess.PIPE, timeout=30)
    assert (done.returncode, done.stderr) == (1, b"")
