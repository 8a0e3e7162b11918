from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.runtime import delivery_socket, private_sockets
from agent_tui_core.runtime.delivery import LINE_LIMIT, Delivery, Result
from agent_tui_core.runtime.delivery_socket import PEERS_AT_ONCE, DeliverySocket
from agent_tui_core.tools.external import Receipt

CALL = "0123456789abcdef" * 2
GOOD = json.dumps({"call": CALL, "result": "x"}).encode() + b"\n"


@asynccontextmanager
async def listening(
    folder: Path, *, user: int | None = None, patience: float = 20.0
) -> AsyncIterator[tuple[DeliverySocket, list[Delivery]]]:
    came: list[Delivery] = []

    def deliver(delivery: Delivery) -> Receipt:
        came.append(delivery)
        return Receipt("accepted", "ok")

    opened = await DeliverySocket.listen(folder, {}, deliver, user=user, patience=patience)
    try:
        yield opened, came
    finally:
        await opened.close()


async def said(path: Path, line: bytes, *, end: bool = False) -> dict[str, str]:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(line)
    if end:
        writer.write_eof()
    async with asyncio.timeout(10):
        reply = await reader.readline()
    writer.close()
    await writer.wait_closed()
    found: dict[str, str] = json.loads(reply)
    return found


async def test_a_line_is_delivered_and_receipted(tmp_path: Path) -> None:
    async with listening(tmp_path) as (opened, came):
        assert await said(opened.path, GOOD) == {"state": "accepted", "words": "ok"}
        assert await said(opened.path, GOOD.rstrip(), end=True) == {"state": "accepted", "words": "ok"}
        assert came == [Delivery(CALL, Result("x"))] * 2


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"\xff\xfe\x00\n",
        b"GET / HTTP/1.1\r\n",
        b"[]\n",
        b'"x"\n',
        b"{}\n",
        b'{"call": 3, "result": 1}\n',
        b'{"call": "../../etc/passwd", "result": 1}\n',
        json.dumps({"call": CALL}).encode() + b"\n",
        json.dumps({"call": CALL, "error": 3}).encode() + b"\n",
        json.dumps({"call": CALL, "result": 1, "error": "both"}).encode() + b"\n",
        b"[" * 200_000 + b"\n",
        f'{{"call": "{CALL}", "result": {"[" * 600}{"]" * 600}}}\n'.encode(),
    ],
)
async def test_what_is_not_understood_is_refused_with_words(tmp_path: Path, line: bytes) -> None:
    async with listening(tmp_path) as (opened, came):
        reply = await said(opened.path, line)
        assert reply["state"] == "refused"
        assert reply["words"]
        assert await said(opened.path, GOOD) == {"state": "accepted", "words": "ok"}
        assert len(came) == 1


async def test_a_line_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async with listening(tmp_path) as (opened, came):
        reader, writer = await asyncio.open_unix_connection(str(opened.path))
        try:
            writer.write(b'{"call": "' + b"x" * LINE_LIMIT)
            await writer.drain()
            async with asyncio.timeout(10):
                assert b"16 MiB" in await reader.readline()
        except ConnectionError:
            pass  # the rest was not read any more
        writer.close()
        assert came == []


async def test_another_user_is_refused(tmp_path: Path) -> None:
    async with listening(tmp_path, user=os.getuid() + 1) as (opened, came):
        reply = await said(opened.path, GOOD)
        assert reply == {"state": "refused", "words": "this program belongs to another user"}
        assert came == []


async def test_silent_and_slow_peers_are_cut_off_and_hold_up_nobody(tmp_path: Path) -> None:
    async with listening(tmp_path, patience=0.3) as (opened, _):
        silent = [await asyncio.open_unix_connection(str(opened.path)) for _ in range(5)]
        silent[0][1].write(GOOD[:10])
        assert await said(opened.path, GOOD) == {"state": "accepted", "words": "ok"}
        async with asyncio.timeout(10):
            for reader, writer in silent:
                with suppress(ConnectionResetError):
                    assert await reader.read() == b""
                writer.close()


async def test_many_silent_peers_do_not_keep_an_answer_out(tmp_path: Path) -> None:
    async with listening(tmp_path) as (opened, _):
        silent = [await asyncio.open_unix_connection(str(opened.path)) for _ in range(3 * PEERS_AT_ONCE)]
        assert await said(opened.path, GOOD) == {"state": "accepted", "words": "ok"}
        for _, writer in silent:
            writer.close()


async def test_closing_with_open_peers_leaves_nothing(tmp_path: Path) -> None:
    before = len(asyncio.all_tasks())
    async with listening(tmp_path) as (opened, _):
        reader, writer = await asyncio.open_unix_connection(str(opened.path))
        writer.write(b"{")
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
    writer.close()
    assert list((tmp_path / "run").iterdir()) == []
    assert len(asyncio.all_tasks()) == before


async def test_a_socket_that_was_left_behind_is_removed_and_a_living_one_stays(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(0o700)
    dead = folder / "1-aaaaaa.sock"
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(dead))
    async with listening(tmp_path) as (first, _), listening(tmp_path) as (second, _):
        assert sorted(folder.iterdir()) == sorted([first.path, second.path])


async def test_a_data_folder_with_a_long_name_has_its_socket_elsewhere(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    async with listening(deep) as (opened, _):
        assert len(os.fsencode(opened.path)) < 108
        assert stat.S_IMODE(opened.path.parent.stat().st_mode) == 0o700
        assert opened.path in [
            path
            for folder in private_sockets.folders(deep, {})
            for path in private_sockets.sockets_in(folder)
        ]
        assert await said(opened.path, GOOD) == {"state": "accepted", "words": "ok"}
    assert not opened.path.parent.exists()


async def test_a_folder_that_others_could_write_is_closed_and_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(0o777)
    assert not private_sockets.is_private(folder)
    async with listening(tmp_path) as (opened, _):
        assert opened.path.parent == folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)
    assert list(private_sockets.sockets_in(folder)) == []
    with pytest.raises(PermissionError):
        private_sockets.make_private(folder)


async def test_no_folder_at_all_is_an_error_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_sockets, "folders", lambda *_: [tmp_path / "missing" / "run"])
    with pytest.raises(ToolError, match=r"no socket for results can be opened .*missing"):
        await DeliverySocket.listen(tmp_path, {}, lambda _: Receipt("accepted", ""))
    assert delivery_socket.PATIENCE > 0
