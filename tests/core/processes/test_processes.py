"""Owns the proof that a child lives, speaks and dies as `run_process` says; refuses to mock one."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.processes.runner import ProcessOutput, run_process


async def shell(script: str, cwd: Path, *, timeout: float = 20, limit: int = 30_000) -> ProcessOutput:
    return await run_process(["/bin/sh", "-c", script], cwd=cwd, timeout=timeout, limit=limit)


class Watched:
    """A shell that runs in a task, and what it said so far."""

    def __init__(self, script: str, cwd: Path) -> None:
        self.said = ""
        self._news = asyncio.Event()
        self.task = asyncio.create_task(
            run_process(["/bin/sh", "-c", script], cwd=cwd, timeout=30, report=self._hear)
        )

    def _hear(self, piece: str) -> None:
        self.said += piece
        self._news.set()

    async def says(self, *words: str) -> None:
        async with asyncio.timeout(10):
            while not all(word in self.said for word in words):
                await self._news.wait()
                self._news.clear()

    def number(self, name: str) -> int:
        return int(self.said.partition(f"{name}=")[2].split()[0])


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


async def until_dead(pid: int) -> None:
    async with asyncio.timeout(5):
        while is_alive(pid):
            await asyncio.sleep(0.01)


async def test_output_and_errors_come_back_together_in_order(tmp_path: Path) -> None:
    done = await shell("echo one; echo two >&2; echo three; exit 7", tmp_path)
    assert (done.text, done.exit_code, done.timed_out) == ("one\ntwo\nthree\n", 7, False)


async def test_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    assert (await shell("kill -SEGV $$", tmp_path)).exit_code == -signal.SIGSEGV


async def test_a_program_that_is_not_there_is_a_tool_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot start"):
        await run_process(["/no/such/program"], cwd=tmp_path, timeout=5)
    with pytest.raises(ToolError, match="cannot start"):
        await run_process(["/bin/sh", "-c", "a\0b"], cwd=tmp_path, timeout=5)
    with pytest.raises(ToolError, match="cannot start"):
        await shell("true", tmp_path / "gone")


async def test_a_failed_start_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(ToolError):
            await run_process(["/no/such/program"], cwd=tmp_path, timeout=5)
        await shell("echo x", tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_input_is_empty_and_there_is_no_terminal(tmp_path: Path) -> None:
    done = await shell("cat; (: </dev/tty) 2>/dev/null || echo no terminal", tmp_path)
    assert done.text == "no terminal\n"


async def test_it_leads_a_session_of_its_own(tmp_path: Path) -> None:
    script = "import os; print(os.getpid() == os.getsid(0) == os.getpgrp())"
    done = await run_process([sys.executable, "-c", script], cwd=tmp_path, timeout=10)
    assert done.text == "True\n"


async def test_the_environment_is_a_short_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-one")
    monkeypatch.setenv("SOMETHING_ELSE", "secret-two")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("WANTED", "yes")
    monkeypatch.setenv("PAGER", "less")
    done = await run_process(
        ["/usr/bin/env"], cwd=tmp_path, timeout=5, environment=("WANTED", "OPENAI_API_KEY")
    )
    seen = dict(line.split("=", 1) for line in done.text.splitlines())
    assert "secret" not in done.text
    assert (seen["WANTED"], seen["LC_TIME"], seen["PAGER"]) == ("yes", "C", "cat")
    assert (seen["GIT_TERMINAL_PROMPT"], seen["EDITOR"]) == ("0", "false")


def test_a_key_is_never_inherited_whatever_is_asked_for() -> None:
    environ = {"OPENAI_API_KEY": "a", "my_api_key": "b", "HOME": "/h", "PATH": "/p"}
    given = child_environment(environ, tuple(environ))
    assert {key for key in given if key in environ} == {"HOME", "PATH"}


COMPANY = {
    "SSL_CERT_FILE": "/c/ca.pem",
    "SSL_CERT_DIR": "/c",
    "REQUESTS_CA_BUNDLE": "/c/ca.pem",
    "CURL_CA_BUNDLE": "/c/ca.pem",
    "NODE_EXTRA_CA_CERTS": "/c/ca.pem",
    "GIT_SSL_CAINFO": "/c/ca.pem",
    "HTTP_PROXY": "http://proxy:3128",
    "https_proxy": "proxy:3128",
    "all_proxy": "socks5://proxy",
    "NO_PROXY": "localhost,.corp",
    "no_proxy": "me@corp",
    "TZ": "Asia/Tokyo",
}
"""What a company's machine has set, so that its programs reach anything."""


async def test_certificates_proxies_and_the_time_zone_are_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in COMPANY.items():
        monkeypatch.setenv(name, value)
    done = await run_process(["/usr/bin/env"], cwd=tmp_path, timeout=5)
    seen = dict(line.split("=", 1) for line in done.text.splitlines())
    assert {name: seen.get(name) for name in COMPANY} == COMPANY


@pytest.mark.parametrize(
    "url",
    [
        "http://me:secret@proxy:3128",
        "me:secret@proxy",
        "http://secret@proxy",
        "socks5h://me:se/cret@proxy:1080/",
        "HTTPS://me:%73ecret@[::1]:1",
    ],
)
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "http_proxy"])
def test_a_proxy_with_a_password_is_left_out_unless_it_is_named(name: str, url: str) -> None:
    environ = {name: url, "PATH": "/p", "NO_PROXY": "localhost"}
    assert set(child_environment(environ)) & set(environ) == {"PATH", "NO_PROXY"}
    assert child_environment(environ, (name,))[name] == url


def test_a_relative_certificate_means_the_same_file_in_every_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = child_environment({"SSL_CERT_FILE": "ca.pem", "SSL_CERT_DIR": "a:/b", "TZ": ""})
    assert given["SSL_CERT_FILE"] == f"{tmp_path}/ca.pem"
    assert given["SSL_CERT_DIR"] == f"{tmp_path}/a:/b"


async def test_a_long_output_keeps_head_and_tail_and_names_a_private_file(tmp_path: Path) -> None:
    done = await shell("seq 1 100000", tmp_path, limit=1_000)
    assert done.text.startswith("1\n2\n")
    assert done.text.endswith("99999\n100000\n")
    assert len(done.text) < 1_300
    assert done.file is not None
    assert f"can be read in {done.file}" in done.text
    assert done.file.read_text() == "".join(f"{number}\n" for number in range(1, 100_001))
    assert stat.S_IMODE(done.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(done.file.parent.stat().st_mode) == 0o700
    done.file.unlink()


async def test_a_character_that_is_cut_by_a_read_arrives_whole(tmp_path: Path) -> None:
    script = "import os,time\nfor byte in 'é€😀'.encode(): os.write(1, bytes([byte])); time.sleep(0.03)"
    heard: list[str] = []
    done = await run_process([sys.executable, "-c", script], cwd=tmp_path, timeout=10, report=heard.append)
    assert done.text == "é€😀"
    assert "".join(heard) == "é€😀"


async def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    assert (await shell(r"printf 'a\377b'", tmp_path)).text == "a\ufffdb"


async def test_the_deadline_ends_the_whole_group(tmp_path: Path) -> None:
    watched = Watched("sleep 60 & echo child=$!; wait", tmp_path)
    await watched.says("child=", "\n")
    started = time.monotonic()
    done = await shell("sleep 60 & echo child=$!; wait", tmp_path, timeout=0.2)
    assert done.timed_out
    assert time.monotonic() - started < 1.5
    await until_dead(int(done.text.partition("=")[2]))
    watched.task.cancel()
    await asyncio.wait([watched.task])


async def test_what_it_says_at_term_is_kept(tmp_path: Path) -> None:
    done = await shell("trap 'echo bye; exit 3' TERM; while :; do sleep 0.02; done", tmp_path, timeout=0.3)
    assert (done.text.endswith("bye\n"), done.exit_code, done.timed_out) == (True, 3, True)


async def test_who_ignores_term_is_killed_after_two_seconds(tmp_path: Path) -> None:
    started = time.monotonic()
    done = await shell("trap '' TERM; while :; do sleep 0.05; done", tmp_path, timeout=0.2)
    assert done.exit_code == -signal.SIGKILL
    assert 2.0 <= time.monotonic() - started < 3.5


async def test_a_background_child_that_holds_the_pipe_does_not_hang_and_does_not_live(tmp_path: Path) -> None:
    started = time.monotonic()
    done = await shell("sleep 60 & echo child=$!", tmp_path)
    assert time.monotonic() - started < 1.5
    assert (done.exit_code, done.timed_out) == (0, False)
    await until_dead(int(done.text.partition("=")[2]))


async def test_a_silent_background_child_is_ended_too(tmp_path: Path) -> None:
    done = await shell("sleep 60 >/dev/null 2>&1 & echo child=$!", tmp_path)
    await until_dead(int(done.text.partition("=")[2]))


async def test_who_left_the_group_and_holds_the_pipe_cannot_make_it_wait(tmp_path: Path) -> None:
    leaver = "import os,time\nprint('out', os.getpid(), flush=True)\nos.setsid()\ntime.sleep(30)"
    script = (
        "import subprocess,sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {leaver!r}], start_new_session=False)\n"
        "import os,time\n"
        "while os.getsid(child.pid) == os.getsid(0): time.sleep(0.01)\n"
    )
    started = time.monotonic()
    done = await run_process([sys.executable, "-c", script], cwd=tmp_path, timeout=20)
    pid = int(done.text.split()[1])
    try:
        assert time.monotonic() - started < 5
        assert done.exit_code == 0
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_a_cancellation_ends_the_group_before_it_is_passed_on(tmp_path: Path) -> None:
    watched = Watched("echo leader=$$; sleep 60 & echo child=$!; wait", tmp_path)
    await watched.says("leader=", "child=")
    started = time.monotonic()
    watched.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watched.task
    assert time.monotonic() - started < 1.5
    assert not is_alive(watched.number("leader"))
    assert not is_alive(watched.number("child"))


async def test_a_second_cancellation_kills_at_once_and_still_waits_for_the_end(tmp_path: Path) -> None:
    watched = Watched("trap 'echo termed' TERM; echo leader=$$; while :; do sleep 0.05; done", tmp_path)
    await watched.says("leader=")
    started = time.monotonic()
    watched.task.cancel()
    await watched.says("termed")
    watched.task.cancel()
    watched.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watched.task
    assert time.monotonic() - started < 1.9
    assert not is_alive(watched.number("leader"))


async def test_a_cancelled_child_is_no_zombie(tmp_path: Path) -> None:
    watched = Watched("echo leader=$$; sleep 60", tmp_path)
    await watched.says("leader=")
    watched.task.cancel()
    await asyncio.wait([watched.task])
    assert not Path(f"/proc/{watched.number('leader')}").exists()


async def test_a_flood_neither_starves_the_loop_nor_fills_the_memory(tmp_path: Path) -> None:
    longest = 0.0
    ticking = True

    async def tick() -> None:
        nonlocal longest
        while ticking:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - before)

    heard: list[str] = []
    ticker = asyncio.create_task(tick())
    done = await run_process(["/usr/bin/yes"], cwd=tmp_path, timeout=0.7, report=heard.append)
    ticking = False
    await ticker
    assert done.timed_out
    assert done.total_bytes > 2**24
    assert len(done.text) < 31_000
    assert longest < 0.25
    assert len(heard) <= 35  # ten a second at most, also while it is being killed
    assert sum(map(len, heard)) < 150_000
    assert done.file is not None
    assert done.file.stat().st_size == 8 * 2**20
    done.file.unlink()


async def test_progress_arrives_while_it_runs(tmp_path: Path) -> None:
    watched = Watched("echo first; read line < gate; echo second", tmp_path)
    os.mkfifo(tmp_path / "gate")
    await watched.says("first")
    assert not watched.task.done()
    (tmp_path / "gate").write_text("go\n")
    assert (await watched.task).text == "first\nsecond\n"
    assert watched.said == "first\nsecond\n"


async def test_many_run_side_by_side(tmp_path: Path) -> None:
    started = time.monotonic()
    done = await asyncio.gather(*(shell(f"sleep 0.3; echo {number}", tmp_path) for number in range(20)))
    assert [one.text for one in done] == [f"{number}\n" for number in range(20)]
    assert time.monotonic() - started < 3
