"""Owns the one connection of this process that writes history; one failed write takes no other down.

Writes that wait together are committed together (one fsync for all), by a thread of their own: one call of it
for all of them, because each way there and back costs as much as a row. Where one of them is refused, all are
done again, each inside a savepoint of its own.
The task that owns the connection also closes it, so it is closed even when the event loop is torn down.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import TypeVar

from agent_tui_core.errors import HistoryError
from agent_tui_core.history.files import explain
from agent_tui_core.history.migrations import connect
from agent_tui_core.history.rows import Change, SqlValue
from agent_tui_core.records import dataclass

_T = TypeVar("_T")

MAX_BATCH = 256
BUSY_STEP = 1.0
"""Seconds that one attempt waits for the lock inside SQLite."""

_REFUSALS = (
    HistoryError,
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    ValueError,
)
"""What is the fault of one write alone."""

_NEXT_SEQ = "SELECT coalesce(max(seq), 0) + 1 FROM entries WHERE conversation_id = ?"
_ADD_ENTRY = """
    INSERT INTO entries (conversation_id, seq, run_id, at, kind, ref)
    VALUES (:conversation_id, :seq, :run_id, :at, :kind, :ref)
"""
_FIND_ENTRY = """
    SELECT 1 FROM entries WHERE conversation_id = ? AND seq = ? AND at = ? AND kind = ? AND ref = ?
"""


@dataclass(slots=True)
class Write:
    """Changes that are kept together or not at all."""

    changes: Sequence[Change]
    at: float
    conversation_id: str | None = None
    """None for rows that stand outside of any conversation's order."""
    run_id: str | None = None
    beside: Sequence[Change] = ()
    """Changes outside of the conversation's order, of any number of rows."""
    first_seq: int = 0
    """Its place in the conversation; 0 until it was tried."""
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def __post_init__(self) -> None:
        self.done.add_done_callback(_look_at)

    def parameters(self) -> Iterable[tuple[Change, Mapping[str, SqlValue]]]:
        """Each change with all that its statement may name."""
        for seq, change in enumerate(self.changes, self.first_seq):
            common: dict[str, SqlValue] = {
                "conversation_id": self.conversation_id,
                "run_id": self.run_id,
                "seq": seq,
                "at": self.at,
                "kind": change.kind,
                "ref": change.ref,
            }
            yield change, common | dict(change.values)

    def settle(self, refusal: HistoryError | None) -> None:
        """Tell whoever waits; only the first time counts."""
        if self.done.done():
            return
        if refusal is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(refusal)


def _look_at(done: asyncio.Future[None]) -> None:
    """A writer that was cancelled does not wait for its outcome any more; somebody has to see it."""
    if not done.cancelled():
        done.exception()


class Writer:
    """Takes writes from any number of tasks and commits them in the order in which they came."""

    def __init__(self, path: Path, *, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._queue: asyncio.Queue[Write | None] = asyncio.Queue()
        self._closed = False
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, f"history writer {path.name}")

    async def open(self, prepare: Callable[[], None]) -> None:
        """Prepare the file and connect; raises what either of them raises, and then nothing stays open."""
        connecting = self._in_thread(self._connect, prepare)
        try:
            connection = await asyncio.shield(connecting)
        except BaseException:
            connecting.add_done_callback(self._close_unwanted)
            raise
        self._task = asyncio.create_task(self._live(connection), name=f"history writer {self._path.name}")

    async def write(self, write: Write) -> None:
        """Return when the write is on disk. HistoryError: nothing of it was kept.

        Cancelling the wait does not cancel the write: it is kept whole, or fails whole.
        """
        if self._closed or self._task is None or self._task.done():
            raise HistoryError(f"{self._path}: the history is closed; nothing was kept.")
        self._queue.put_nowait(write)
        await write.done

    async def close(self) -> None:
        """Commit what waits and close the connection; doing it again is harmless."""
        if self._task is None:
            return
        if not self._closed:
            self._closed = True
            self._queue.put_nowait(None)
        await asyncio.shield(self._task)

    def _in_thread(self, work: Callable[..., _T], *arguments: object) -> asyncio.Future[_T]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    def _close_unwanted(self, connecting: asyncio.Future[sqlite3.Connection]) -> None:
        if not connecting.cancelled() and connecting.exception() is None:
            self._thread.submit(connecting.result().close)
        self._thread.shutdown(wait=False)

    async def _live(self, connection: sqlite3.Connection) -> None:
        batch: Sequence[Write] | None = ()
        try:
            while (batch := await self._next_batch()) is not None:
                await self._settled(connection, batch)
        finally:
            self._closed = True
            closing = self._in_thread(connection.close)
            self._thread.shutdown(wait=False)
            await closing
            unsettled = [*(batch or ())]
            while not self._queue.empty():
                unsettled += [write for write in [self._queue.get_nowait()] if write is not None]
            for write in unsettled:
                write.settle(HistoryError(f"{self._path}: the history was closed before this was kept."))

    async def _settled(self, connection: sqlite3.Connection, batch: Sequence[Write]) -> None:
        """Keep a batch and tell whoever waits; a cancellation comes after that."""
        keeping = self._in_thread(self._keep, connection, batch)
        try:
            await asyncio.shield(keeping)
        finally:
            for write, refusal in zip(batch, await keeping, strict=True):
                write.settle(refusal)

    async def _next_batch(self) -> list[Write] | None:
        first = await self._queue.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < MAX_BATCH and not self._queue.empty():
            following = self._queue.get_nowait()
            if following is None:
                self._queue.put_nowait(None)
                break
            batch.append(following)
        return batch

    # --- in the thread --------------------------------------------------------------------------------------

    def _connect(self, prepare: Callable[[], None]) -> sqlite3.Connection:
        prepare()
        connection = connect(self._path, patience=min(BUSY_STEP, self._patience))
        try:
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _keep(self, connection: sqlite3.Connection, batch: Sequence[Write]) -> Sequence[HistoryError | None]:
        """Commit the batch, together or else one by one; why each was refused, or None, in its place."""
        try:
            return self._commit(connection, batch)
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            is_last_try = len(batch) == 1 or _is_busy(error)
            refusals: list[HistoryError | None] = []
            for write in batch:
                if self._was_kept(connection, write):
                    refusals.append(None)
                elif is_last_try:
                    refusals.append(explain(error, self._path))
                else:
                    refusals += self._keep(connection, [write])
            return refusals

    def _commit(
        self, connection: sqlite3.Connection, batch: Sequence[Write]
    ) -> Sequence[HistoryError | None]:
        """Commit all of the batch that can be; what was refused, and why, comes back in its place."""
        cursor = connection.cursor()
        self._begin(cursor)
        try:
            for write in batch:
                self._apply(cursor, write)
        except _REFUSALS:
            cursor.execute("ROLLBACK")
            return self._commit_the_good(cursor, batch)
        cursor.execute("COMMIT")
        return [None] * len(batch)

    def _commit_the_good(
        self, cursor: sqlite3.Cursor, batch: Sequence[Write]
    ) -> Sequence[HistoryError | None]:
        refusals: list[HistoryError | None] = []
        self._begin(cursor)
        for write in batch:
            cursor.execute("SAVEPOINT one_write")
            try:
                self._apply(cursor, write)
            except _REFUSALS as error:
                cursor.execute("ROLLBACK TO one_write")
                refusals.append(_refusal(error, self._path))
            else:
                refusals.append(None)
            cursor.execute("RELEASE one_write")
        cursor.execute("COMMIT")
        return refusals

    def _begin(self, cursor: sqlite3.Cursor) -> None:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() >= deadline:
                    raise
            else:
                return

    def _apply(self, cursor: sqlite3.Cursor, write: Write) -> None:
        if write.conversation_id is not None:
            row = cursor.execute(_NEXT_SEQ, (write.conversation_id,)).fetchone()
            write.first_seq = int(row[0])
        every = list(write.parameters())
        for change, values in every:
            if cursor.execute(change.sql, values).rowcount != 1:
                raise HistoryError(
                    f"{self._path}: {change.kind} {change.ref} comes too early or twice; nothing was kept."
                )
        if write.conversation_id is not None:
            cursor.executemany(_ADD_ENTRY, [values for _, values in every])
        for change in write.beside:
            cursor.execute(change.sql, {"at": write.at, **change.values})

    def _was_kept(self, connection: sqlite3.Connection, write: Write) -> bool:
        """After a commit of unknown outcome: look whether the last entry of the write is there."""
        if write.conversation_id is None or not write.changes or not write.first_seq:
            return False
        last = write.changes[-1]
        place = write.first_seq + len(write.changes) - 1
        try:
            found = connection.execute(
                _FIND_ENTRY, (write.conversation_id, place, write.at, last.kind, last.ref)
            )
            return found.fetchone() is not None
        except sqlite3.Error:
            return False


def _refusal(error: Exception, path: Path) -> HistoryError:
    if isinstance(error, HistoryError):
        return error
    refusal = HistoryError(f"{path}: refused, so nothing of it was kept: {error}")
    refusal.__cause__ = error
    return refusal


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
