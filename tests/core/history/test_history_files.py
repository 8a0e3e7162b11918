"""The file is private, migrates once, and says what is wrong with it and what to do."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.errors import HistoryError
from agent_tui_core.history.files import HistoryDamaged, move_aside
from agent_tui_core.history.migrations import MIGRATIONS, connect, migrate
from agent_tui_core.history.store import History
from development import DEVELOPMENT
from stored_turns import said

CORE = Path(__file__).parents[3] / "core"
NOBODY = 65534
OPEN = (
    "import asyncio, concurrent.futures.thread, os, pathlib, sys\n"
    "from agent_tui_core.errors import HistoryError\n"
    "from agent_tui_core.history.store import History\n"
    "async def main():\n"
    "    history = await History.open(pathlib.Path(sys.argv[1]))\n"
    "    await history.close()\n"
    "if os.geteuid() == 0:\n"
    f"    os.setuid({NOBODY})\n"
    "try:\n"
    "    asyncio.run(main())\n"
    "except HistoryError as error:\n"
    "    sys.exit(str(error))\n"
)


@pytest.fixture(params=[0o000, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_folders_and_files_are_for_their_owner_alone(tmp_path: Path, umask: None) -> None:
    path = tmp_path / "data" / "deep" / "history.db"
    history = await History.open(path)
    await history.start_session("/work")
    assert [mode(folder) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]
    found = sorted(path.parent.iterdir())
    assert [each.name for each in found] == ["history.db", "history.db-shm", "history.db-wal"]
    assert [mode(each) for each in found] == [0o600] * 3
    await history.close()


async def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.touch()
    path.chmod(0o666)
    history = await History.open(path)
    assert {mode(each) for each in tmp_path.iterdir()} == {0o600}
    await history.close()


async def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    history = await History.open(tmp_path / "history.db")
    await history.close()
    assert mode(tmp_path) == 0o755


async def test_what_is_no_database_is_named_kept_and_can_be_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    words = b"these are my notes, not a database\n" * 99
    path.write_bytes(words)
    with pytest.raises(HistoryDamaged, match="Move it aside") as caught:
        await History.open(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == words
    aside = move_aside(caught.value.path)
    assert aside.read_bytes() == words
    history = await History.open(path)
    assert await history.sessions() == []
    await history.close()


@pytest.mark.parametrize("note", ["x", "a note"])
async def test_a_short_file_that_is_no_database_is_not_overwritten(tmp_path: Path, note: str) -> None:
    path = tmp_path / "history.db"
    path.write_text(note)
    with pytest.raises(HistoryDamaged):
        await History.open(path)
    assert path.read_text() == note


async def test_a_database_that_was_overwritten_in_the_middle_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    history = await History.open(path)
    session = await history.start_session("/work")
    conversation = await history.add_conversation(session, agent_id="a", name="a", position=0, profile={})
    await history.record(conversation, "run", *said("x" * 100_000))
    await history.close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(HistoryDamaged):
        history = await History.open(path)
        try:
            await history.load(session)
        finally:
            await history.close()


def test_moving_aside_takes_the_side_files_along_and_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    places = []
    for generation in "ab":
        for suffix in ("", "-wal", "-shm"):
            (tmp_path / f"history.db{suffix}").write_text(generation)
        places.append(move_aside(path))
    assert len(set(places)) == 2
    assert not path.exists()
    assert sorted(each.read_text() for each in tmp_path.iterdir()) == ["a"] * 3 + ["b"] * 3


async def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    await (await History.open(path)).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(HistoryError, match=r"newer agent-tui \(schema 99.*Update agent-tui") as caught:
        await History.open(path)
    assert str(path) in str(caught.value)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (99,)


@pytest.mark.parametrize("version", [0, 1])
async def test_another_programs_database_is_left_alone(tmp_path: Path, version: int) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE theirs (x)")
        other.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(HistoryError, match="another program"):
        await History.open(path)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
        assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.mark.parametrize("kind", ["folder", "under a file", "pipe"])
async def test_a_path_that_can_be_no_file_says_so(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "history.db"
    match kind:
        case "folder":
            path.mkdir()
        case "under a file":
            path.touch()
            path = path / "history.db"
        case _:
            os.mkfifo(path)
    with pytest.raises(HistoryError, match="--data-dir") as caught:
        await History.open(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
async def test_a_folder_that_cannot_be_written_says_so(exists: bool) -> None:
    folder = Path(tempfile.mkdtemp())
    path = folder / "history.db"
    try:
        if exists:
            await (await History.open(path)).close()
            if os.geteuid() == 0:
                os.chown(path, NOBODY, NOBODY)
        folder.chmod(0o555)
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", OPEN, str(path)],
            env=DEVELOPMENT | {"PYTHONPATH": str(CORE)},
            timeout=20,
            capture_output=True,
            text=True,
        )
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
    assert done.returncode == 1
    assert str(path) in done.stderr
    assert "Make its folder writable" in done.stderr


async def test_a_file_that_stays_locked_is_an_error_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(HistoryError, match="locked by another program"):
            await History.open(path, patience=0.1)
        other.execute("ROLLBACK")
    await (await History.open(path)).close()


async def test_opening_can_be_cancelled_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    for moment in range(12):
        opening = asyncio.create_task(History.open(path))
        for _ in range(moment):
            await asyncio.sleep(0.001)
        opening.cancel()
        await asyncio.wait([opening])
        if not opening.cancelled():
            await opening.result().close()
    history = await History.open(path)
    await history.close()


def test_a_step_that_fails_leaves_the_old_schema(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(connect(path, patience=1)) as connection:
        migrate(connection, path, patience=1)
        steps = [*MIGRATIONS, ("CREATE TABLE more (x)", "CREATE TABLE more (x)")]
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, path, patience=1, steps=steps)
        assert connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        steps[-1] = ("CREATE TABLE more (x)",)
        migrate(connection, path, patience=1, steps=steps)
        assert connection.execute("PRAGMA user_version").fetchone()[0] == len(steps)
        assert connection.execute("SELECT count(*) FROM more").fetchone()[0] == 0


class Late(sqlite3.Connection):
    """Before it looks for tables, another program makes them, if nothing keeps it from that."""

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        if "sqlite_master" in sql and not self.execute("PRAGMA application_id").fetchone()[0]:
            path = Path(str(sqlite3.Connection.execute(self, "PRAGMA database_list").fetchone()[2]))
            with closing(connect(path, patience=0)) as other, suppress(sqlite3.OperationalError):
                migrate(other, path, patience=0)
        return super().execute(sql, *arguments)


def test_a_file_that_another_program_makes_at_this_moment_is_ours(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path, isolation_level=None, factory=Late)) as connection:
        migrate(connection, path, patience=5.0)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


async def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    opened = await asyncio.gather(*(History.open(path) for _ in range(8)))
    for history in opened:
        await history.start_session("/work")
    assert len(await opened[0].sessions()) == 8
    for history in opened:
        await history.close()
