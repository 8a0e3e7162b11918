"""What a hook is as a process: its own session, drained pipes, and nothing of it left."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui_core.blocks import Text
from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.points import PreToolUseEvent, UserPromptSubmitEvent
from agent_tui_core.messages import Message
from hooked import decides, hooked, says

CALL = PreToolUseEvent("Bash", {"command": "ls"}, "c1", ())


def pre(command: str, timeout: float = 20) -> CommandHook:
    return CommandHook("PreToolUse", command, timeout=timeout)


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not claim():
            await asyncio.sleep(0.01)  # another process writes a file: nothing tells us


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state not in (b"Z", b"X")


async def test_a_hook_leads_its_own_session_without_a_terminal(tmp_path: Path) -> None:
    await hooked(tmp_path, pre("ps -o pid=,sid=,tty= -p $$ > ids")).hooks.on_call(CALL)
    pid, session, terminal = (tmp_path / "ids").read_text().split()
    assert pid == session != str(os.getsid(0))
    assert terminal == "?"


async def test_a_hook_knows_the_project_starts_elsewhere_and_never_sees_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("MY_BUS", "unix:here")
    await hooked(tmp_path, pre('pwd > where; env > env; echo "$CLAUDE_PROJECT_DIR" > project')).hooks.on_call(
        CALL
    )
    assert not Path((tmp_path / "where").read_text().strip()).is_relative_to(tmp_path)
    assert (tmp_path / "project").read_text().strip() == str(tmp_path)
    assert "sk-secret" not in (tmp_path / "env").read_text()
    assert "unix:here" not in (tmp_path / "env").read_text()
    named = CommandHook("PreToolUse", "env > env", environment=("MY_BUS", "OPENAI_API_KEY"))
    await hooked(tmp_path, named).hooks.on_call(CALL)
    assert "MY_BUS=unix:here" in (tmp_path / "env").read_text()
    assert "sk-secret" not in (tmp_path / "env").read_text()


async def test_a_flood_on_both_pipes_is_drained_and_bounded(tmp_path: Path) -> None:
    flood = (
        "head -c 20000000 /dev/zero | tr '\\0' o & head -c 20000000 /dev/zero | tr '\\0' e >&2; wait; exit 2"
    )
    verdict = await hooked(tmp_path, pre(flood)).hooks.on_call(CALL)
    assert verdict.behavior == "deny"
    assert verdict.reason.startswith("eee")
    assert len(verdict.reason) < 5_000


async def test_a_hook_that_never_reads_a_large_input_still_decides(tmp_path: Path) -> None:
    large = PreToolUseEvent("Write", {"file_path": "a", "content": "x" * 3_000_000}, "c1", ())
    verdict = await hooked(tmp_path, pre(says(decides("deny", "no")))).hooks.on_call(large)
    assert (verdict.behavior, verdict.reason) == ("deny", "no")


async def test_a_hook_that_closes_its_input_early_still_decides(tmp_path: Path) -> None:
    large = PreToolUseEvent("Write", {"file_path": "a", "content": "x" * 3_000_000}, "c1", ())
    command = f"head -c 10 > /dev/null; exec <&-; sleep 0.1; {says(decides('deny', 'no'))}"
    verdict = await hooked(tmp_path, pre(command)).hooks.on_call(large)
    assert (verdict.behavior, verdict.reason) == ("deny", "no")


async def test_a_large_input_reaches_a_hook_that_reads_it(tmp_path: Path) -> None:
    large = PreToolUseEvent("Write", {"file_path": "a", "content": "x" * 3_000_000}, "c1", ())
    await hooked(tmp_path, pre("wc -c > size")).hooks.on_call(large)
    assert int((tmp_path / "size").read_text()) > 3_000_000


async def test_a_grandchild_that_holds_the_pipe_does_not_hold_the_call(tmp_path: Path) -> None:
    command = f"sleep 60 & echo $! > child; {says(decides('deny', 'no'))}"
    began = time.monotonic()
    verdict = await hooked(tmp_path, pre(command)).hooks.on_call(CALL)
    assert (verdict.behavior, verdict.reason) == ("deny", "no")
    assert time.monotonic() - began < 10
    assert not alive(int((tmp_path / "child").read_text()))


async def test_a_hook_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    ann = hooked(tmp_path, pre("sleep 60 & echo $! > child; echo $$ > leader; sleep 60", timeout=0.5))
    verdict = await ann.hooks.on_call(CALL)
    assert verdict.behavior == "ask"
    assert "0.5 s" in verdict.reason
    for name in ("child", "leader"):
        assert not alive(int((tmp_path / name).read_text()))


async def test_an_interrupt_ends_all_hooks_that_run_and_their_children(tmp_path: Path) -> None:
    line = "sleep 60 & echo $! > child{0}; echo $$ > leader{0}; wait"
    ann = hooked(tmp_path, pre(line.format(1)), pre(line.format(2)))
    task = asyncio.create_task(ann.hooks.on_call(CALL))
    files = [tmp_path / f"{who}{number}" for who in ("child", "leader") for number in (1, 2)]
    await until(lambda: all(file.exists() and file.read_text().strip() for file in files))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(alive(int(file.read_text())) for file in files)


async def test_a_second_interrupt_does_not_wait_for_a_hook_that_ignores_the_first(tmp_path: Path) -> None:
    ann = hooked(tmp_path, pre("trap '' TERM; echo $$ > leader; while :; do sleep 0.05; done"))
    task = asyncio.create_task(ann.hooks.on_call(CALL))
    await until(lambda: (tmp_path / "leader").exists() and bool((tmp_path / "leader").read_text().strip()))
    began = time.monotonic()
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 1.9, "the grace of a stubborn process is 2 s"
    assert not alive(int((tmp_path / "leader").read_text()))


async def test_the_transcript_that_hooks_read_is_private_grows_and_goes_with_the_session(
    tmp_path: Path,
) -> None:
    command = """cp "$(sed 's/.*"transcript_path":"\\([^"]*\\)".*/\\1/')" seen"""
    ann = hooked(tmp_path, CommandHook("UserPromptSubmit", command))
    first = Message("user", (Text("one"),))
    await ann.hooks.on_prompt(UserPromptSubmitEvent("two", (first,)))
    assert (tmp_path / "seen").read_text().count("\n") == 1
    history = (first, Message("assistant", (Text("ok"),)))
    await ann.hooks.on_prompt(UserPromptSubmitEvent("three", history))
    assert (tmp_path / "seen").read_text().count("\n") == 2
    await ann.hooks.on_prompt(UserPromptSubmitEvent("four", (Message("user", (Text("anew"),)),)))
    assert "anew" in (tmp_path / "seen").read_text()
    file = ann.commands.transcripts.update(ann.agent.agent, ())
    assert file is not None
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    ann.commands.close()
    assert not file.parent.exists()


async def test_how_hooks_fare_is_counted(tmp_path: Path) -> None:
    flaky = pre("[ -e gone ] && exit 3; touch gone")
    ann = hooked(tmp_path, flaky)
    before = time.time()
    await ann.hooks.on_call(CALL)
    assert ann.commands.health.of(flaky.id).failing is False
    await ann.hooks.on_call(CALL)
    health = ann.commands.health.of(flaky.id)
    assert (health.runs, health.failures, health.failing) == (2, 1, True)
    assert health.last_at is not None
    assert before <= health.last_at <= time.time()
    assert 0 < health.p50 <= health.p95 < 10
    assert "exit code 3" in health.last_failure
