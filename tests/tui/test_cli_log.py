"""The log file: private, bounded, without keys and without anything that could forge a record."""

from __future__ import annotations

import logging
import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.launch import LARGEST_LOG, LOG_NAME, open_log
from agent_tui_core.errors import ConfigError


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    yield
    for handler in root.handlers:
        handler.close()
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)


def test_only_its_owner_can_read_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = open_log(tmp_path / "new" / "data", [])
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_key_is_blacked_out_in_messages_and_tracebacks(tmp_path: Path) -> None:
    file = open_log(tmp_path, ["sk-topsecret", ""])
    try:
        raise RuntimeError("header sk-topsecret was refused")
    except RuntimeError:
        logging.getLogger("agent_tui").exception("sent %s", "sk-topsecret")
    text = file.read_text()
    assert "Traceback" in text
    assert "topsecret" not in text
    assert "[key]" in text


def test_foreign_text_can_neither_forge_a_record_nor_move_a_terminal(tmp_path: Path) -> None:
    file = open_log(tmp_path, [])
    logging.getLogger("agent_tui").warning("%s", "one\x1b]0;x\x07\n2026-01-01 00:00:00 1 INFO forged\rx")
    first, *rest = file.read_text().splitlines()
    assert "\x1b" not in first
    assert rest
    assert all(line.startswith("    ") for line in rest)


def test_warnings_go_to_the_file_and_not_over_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = open_log(tmp_path, [])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("something is old", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(False)
    assert "something is old" in file.read_text()
    assert not capsys.readouterr().err


def test_the_next_start_writes_on_and_closes_it_to_others(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_text("before\n")
    (tmp_path / LOG_NAME).chmod(0o644)
    file = open_log(tmp_path, [])
    logging.getLogger("agent_tui").warning("after")
    assert file.read_text().startswith("before\n")
    assert "after" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_pipe_in_its_place_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOG_NAME)
    with pytest.raises(ConfigError):
        open_log(tmp_path, [])


def test_a_large_log_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_bytes(b"x" * (LARGEST_LOG + 1))
    file = open_log(tmp_path, [])
    assert file.stat().st_size == 0
    assert (tmp_path / f"{LOG_NAME}.1").stat().st_size == LARGEST_LOG + 1


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file"):
        open_log(tmp_path / "file", [])
