"""Files that a person or a folder names: what is no file is refused at once, and nobody waits for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent_tui.theming import load_theme, remembered_theme
from agent_tui_core.blocks import Image
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.rules_file import read_rules
from agent_tui_core.config.trust import TrustStore
from agent_tui_core.errors import AgentTuiError, ConfigError, HistoryError
from agent_tui_core.history.store import History
from agent_tui_core.processes.mounts import _worktree_of
from agent_tui_core.providers.cassettes import _read
from agent_tui_core.regular_file import open_regular, read_regular
from agent_tui_core.runtime.hook_layers import read_file

pytestmark = pytest.mark.timeout(10)


def _socket(place: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as made:
        made.bind(str(place))


def _endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, _endless, _socket])
@pytest.mark.parametrize(
    "read",
    [
        open_regular,
        read_regular,
        lambda file: load_settings(file, environ={}),
        read_rules,
        read_file,
        load_theme,
        _read,
        lambda file: Image.from_file(file.rename(file.with_suffix(".png"))),
    ],
)
def test_what_is_no_file_is_refused_at_once(
    read: Callable[[Path], object],
    make: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    file = Path("named.toml")
    make(file)
    with pytest.raises((OSError, AgentTuiError)) as told:
        read(file)
    assert str(told.value)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, _endless])
def test_what_nothing_depends_on_is_as_if_it_were_not_there(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    for name in ("theme.txt", "trust.json", ".git"):
        make(tmp_path / name)
    assert remembered_theme(tmp_path) is None
    assert TrustStore(tmp_path)._read() == {}
    assert _worktree_of(tmp_path / ".git") is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, _endless])
async def test_a_history_that_is_no_file_is_refused_at_once(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "history.db")
    with pytest.raises(HistoryError):
        await History.open(tmp_path / "history.db")


def test_the_error_says_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="it is a pipe, not a file"):
        load_settings(tmp_path / "pipe", environ={})


def test_no_settings_can_be_said_with_the_null_device() -> None:
    assert load_settings(Path(os.devnull), environ={}) == load_settings(None, environ={"HOME": "/nowhere"})


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"words")
    (tmp_path / "here").symlink_to(tmp_path / "there")
    assert read_regular(tmp_path / "here") == b"words"
