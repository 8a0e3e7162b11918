from __future__ import annotations

import io
from pathlib import Path

import pytest

from agent_tui.cli import run
from agent_tui_core.runtime.delivery import LINE_LIMIT

CALL = "0123456789abcdef" * 2


class Piped(io.TextIOWrapper):
    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("sys.stdin", Piped(b""))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing argument 'CALL_ID'"),
        (["../../x", "--result", "x"], "That is no id of a call"),
        ([CALL.upper(), "--result", "x"], "That is no id of a call"),
        ([CALL, "--result", "x", "--error", "y"], "Say one of --result and --error"),
        ([CALL, "--result-file", "not/there"], "not/there cannot be read: No such file"),
        ([CALL, "--progress", "x", "--error", "y"], "Say one of --error and --progress"),
        ([CALL, "--list"], "--list shows all calls"),
        (["--list", "--result", "x"], "--list shows all calls"),
        ([CALL], "Standard input: this is no JSON"),
    ],
)
def test_arguments_that_are_no_good_say_why_and_exit_with_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tool-result", *arguments]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "agent-tui tool-result --help" in told


@pytest.mark.parametrize("said", [b"[]", b"{}", b'{"result": 1, "error": "x"}', b'{"error": 3}', b"\xff"])
def test_standard_input_that_is_no_answer_is_refused(
    said: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Piped(said))
    assert run(["tool-result", CALL]) == 2
    assert "Standard input:" in capsys.readouterr().err


def test_a_result_that_is_too_large_is_refused_before_it_is_sent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = folder / "large"
    with large.open("wb") as file:
        file.truncate(LINE_LIMIT + 1)
    assert run(["tool-result", CALL, "--result-file", str(large)]) == 1
    assert "may have 16 MiB" in capsys.readouterr().err


def test_an_id_that_nobody_knows_is_told_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tool-result", CALL, "--result", "x"]) == 1
    assert "no call with this id is known" in capsys.readouterr().err
    assert not (folder / "history.db").exists()
