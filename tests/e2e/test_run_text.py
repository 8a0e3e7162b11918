"""`agent-tui run` for people: what goes where, what may run, and how it ends."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headless_program import KEY, ran, started
from loopback import (
    DONE,
    HANG,
    Answer,
    LoopbackServer,
    Request,
    call,
    finish,
    json_answer,
    say,
    text,
    tool_call,
)


async def test_words_reach_standard_output_while_the_model_speaks(tmp_path: Path) -> None:
    release = asyncio.Event()
    async with LoopbackServer([Answer(text("Hel"), release, text("lo"), finish(), DONE)]) as server:
        async with started(tmp_path, "run", "hi", base_url=server.base_url) as program:
            assert await program.read(3) == b"Hel"
            release.set()
            ended = await program.end()
    assert (ended.code, ended.out) == (0, "lo\n")
    assert server.requests[0].json["messages"][-1]["content"] == "hi"
    assert ended.err.startswith("session ")


async def test_of_several_agents_whole_lines_leave_behind_their_names(tmp_path: Path) -> None:
    both = asyncio.Event()
    asked: list[str] = []

    def script(request: Request) -> Answer:
        asked.append(request.path)
        if len(asked) == 2:
            both.set()
        return Answer(both, text("one\ntw"), 0.01, text("o\n\nthr"), 0.01, text("ee"), finish(), DONE)

    async with LoopbackServer(script) as server:
        ended = await ran(tmp_path, "run", "-a", "ann", "-a", "rob", "hi", base_url=server.base_url)
    assert ended.code == 0
    lines = ended.out.splitlines()
    for name in ("ann", "rob"):
        mine = [line for line in lines if line.startswith(f"{name}:")]
        assert mine == [f"{name}: one", f"{name}: two", f"{name}:", f"{name}: three"]
    assert len(lines) == 8


async def test_calls_and_their_failures_are_told_on_standard_error_only(tmp_path: Path) -> None:
    calls = [call("Read", {"file_path": "missing.txt"}, words="Looking."), say("Not there.")]
    async with LoopbackServer(calls) as server:
        ended = await ran(tmp_path, "run", "look", base_url=server.base_url)
    assert (ended.code, ended.out) == (0, "Looking.\nNot there.\n")
    assert "> Read missing.txt" in ended.err
    assert "! Read: error: " in ended.err


async def test_a_question_is_denied_at_once_and_the_words_say_how_to_allow_it(tmp_path: Path) -> None:
    command = "echo 'well done' > made.txt"
    async with LoopbackServer([call("Bash", {"command": command}), say("I may not.")] * 2) as server:
        ended = await ran(tmp_path, "run", "make it", base_url=server.base_url)
        told = server.requests[1].json["messages"][-1]["content"]
        assert ended.code == 0
        assert not (tmp_path / "workspace" / "made.txt").exists()
        for words in (told, ended.err):
            assert "nobody is there to ask" in words
        [option] = re.findall(r"--approve .*", ended.err)
        assert option in told
        again = await ran(tmp_path, "run", "make it", *shlex.split(option), base_url=server.base_url)
    assert again.code == 0
    assert (tmp_path / "workspace" / "made.txt").read_text() == "well done\n"


async def test_all_allows_what_no_rule_forbids_but_no_protected_name(tmp_path: Path) -> None:
    calls = [
        call("Write", {"file_path": "made.txt", "content": "x"}, id="a"),
        call("Write", {"file_path": ".env", "content": "x"}, id="b"),
        say("Done."),
    ]
    async with LoopbackServer(calls) as server:
        ended = await ran(tmp_path, "run", "--approve", "all", "write", base_url=server.base_url)
        told = server.requests[2].json["messages"][-1]["content"]
    assert ended.code == 0
    assert (tmp_path / "workspace" / "made.txt").exists()
    assert not (tmp_path / "workspace" / ".env").exists()
    assert "protected name" in told
    assert "--json --approve ask" in told


async def test_a_failed_run_is_exit_code_1_and_its_reason_is_told(tmp_path: Path) -> None:
    async with LoopbackServer([json_answer({"error": {"message": "no such model"}}, status=404)]) as server:
        ended = await ran(tmp_path, "run", "hi", base_url=server.base_url)
    assert (ended.code, ended.out) == (1, "")
    assert "no such model" in ended.err


async def test_a_run_that_was_stopped_at_a_limit_is_exit_code_3(tmp_path: Path) -> None:
    async with LoopbackServer([Answer(text("cut"), finish("length"), DONE)]) as server:
        ended = await ran(tmp_path, "run", "hi", base_url=server.base_url)
    assert (ended.code, ended.out) == (3, "cut\n")


async def test_of_several_agents_the_worst_end_is_the_exit_code(tmp_path: Path) -> None:
    failing = json_answer({"error": {"message": "no"}}, status=400)
    answers = [say("ok"), Answer(text("cut"), finish("length"), DONE), failing]
    async with LoopbackServer(answers) as server:
        assert (await ran(tmp_path, "run", "-n", "3", "hi", base_url=server.base_url)).code == 1


@pytest.mark.parametrize(
    ("args", "given", "said"),
    [
        ([], None, "standard input is empty"),
        (["-"], b" \n", "standard input is empty"),
        (["-"], b"\xff\xfe", "no UTF-8"),
        ([""], None, "prompt is empty"),
        (["two", "words"], None, "put it in quotes"),
        (["hi", "--approve", "sometimes"], None, "there is no tool 'sometimes'"),
        (["hi", "--approve", "Bash(ls"], None, "not a rule"),
        (["hi", "--approve", "all", "--approve", "deny"], None, "contradict"),
        (["hi", "--approve", "ask"], None, "needs --json"),
        (["hi", "--json", "--approve", "ask"], None, "needs --json"),
        (["hi", "--resume", "../etc"], None, "is no id of a session"),
        (["hi", "--resume", "newest", "-n", "2"], None, "leave out"),
        (["hi", "--theme", "ember"], None, "--theme"),
    ],
)
async def test_what_cannot_be_started_is_exit_code_2_and_one_line(
    args: list[str], given: bytes | None, said: str, tmp_path: Path
) -> None:
    ended = await ran(tmp_path, "run", *args, given=given)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("args", [["-"], []])
async def test_the_prompt_comes_from_standard_input(args: list[str], tmp_path: Path) -> None:
    async with LoopbackServer([say("ok")]) as server:
        given = "zwei\nZeilen ü\n".encode()
        assert (await ran(tmp_path, "run", *args, base_url=server.base_url, given=given)).code == 0
    assert server.requests[0].json["messages"][-1]["content"] == "zwei\nZeilen ü\n"


async def test_a_session_goes_on_where_it_was(tmp_path: Path) -> None:
    async with LoopbackServer([say("first"), say("second")]) as server:
        first = await ran(tmp_path, "run", "one", base_url=server.base_url)
        [known] = re.findall(r"session ([0-9a-f]{8})", first.err)
        second = await ran(tmp_path, "run", "two", "--resume", known, base_url=server.base_url)
    assert (second.code, second.out) == (0, "second\n")
    said = [each["content"] for each in server.requests[1].json["messages"] if each["role"] != "system"]
    assert said == ["one", "first", "two"]


def kept(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "data" / "history.db")) as database:
        return str(database.execute("SELECT group_concat(blocks, '') FROM messages").fetchone()[0])


async def test_an_interrupt_keeps_what_came_and_is_exit_code_130(tmp_path: Path) -> None:
    async with LoopbackServer([Answer(text("half a sen"), HANG)]) as server:
        async with started(tmp_path, "run", "hi", base_url=server.base_url) as program:
            await program.read(len("half a sen"))
            program.signal(signal.SIGINT)
            ended = await program.end()
        async with asyncio.timeout(5):
            await server.streams[0].disconnected.wait()
    assert (ended.code, ended.out) == (130, "\n")
    assert "interrupted" in ended.err
    assert "half a sen" in kept(tmp_path)


def in_workspace(folder: Path, name: str) -> Path:
    """A pipe where a command in the sandbox finds it."""
    (folder / "workspace").mkdir(exist_ok=True)
    pipe = folder / "workspace" / name
    os.mkfifo(pipe)
    return pipe


async def test_a_second_interrupt_does_not_wait_for_a_command_that_will_not_stop(tmp_path: Path) -> None:
    fifo = in_workspace(tmp_path, "fifo")
    command = f"exec 9> {fifo}; trap '' TERM; echo ready >&9; while :; do sleep 60; done"
    async with LoopbackServer([call("Bash", {"command": command})]) as server:
        args = ("run", "--json", "--approve", "all", "x")
        async with started(tmp_path, *args, base_url=server.base_url) as program:
            async with asyncio.timeout(20):
                held = await asyncio.to_thread(fifo.open, "rb", buffering=0)
            with held:
                assert await asyncio.to_thread(held.read, 6) == b"ready\n"
                program.signal(signal.SIGINT)
                await program.until(lambda line: line.get("state") == "stopping")
                began = asyncio.get_running_loop().time()
                program.signal(signal.SIGINT)
                ended = await program.end()
                took = asyncio.get_running_loop().time() - began
                async with asyncio.timeout(10):  # the end of the pipe: nobody of the group lives
                    assert await asyncio.to_thread(held.read, 1) == b""
    assert ended.code == 130
    assert took < 1.9


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGRTMIN])
async def test_every_signal_that_would_end_it_ends_its_commands_and_closes_the_history(
    number: signal.Signals, tmp_path: Path
) -> None:
    fifo = in_workspace(tmp_path, "fifo")
    command = f"exec 9> {fifo}; echo ready >&9; while :; do sleep 60; done"
    async with LoopbackServer([call("Bash", {"command": command})]) as server:
        args = ("run", "--approve", "all", "x")
        async with started(tmp_path, *args, base_url=server.base_url) as program:
            async with asyncio.timeout(20):
                held = await asyncio.to_thread(fifo.open, "rb", buffering=0)
            with held:
                assert await asyncio.to_thread(held.read, 6) == b"ready\n"
                program.signal(number)
                ended = await program.end()
                async with asyncio.timeout(10):  # the end of the pipe: nobody of the group lives
                    assert await asyncio.to_thread(held.read, 1) == b""
    assert ended.code == 128 + number
    assert "interrupted" in ended.err
    assert not (tmp_path / "data" / "history.db-wal").exists()


async def test_a_reader_that_left_ends_it_quietly(tmp_path: Path) -> None:
    release = asyncio.Event()
    async with LoopbackServer([Answer(text("one\n"), release, text("two\n"), HANG)]) as server:
        async with started(tmp_path, "run", "hi", base_url=server.base_url) as program:
            await program.read(4)
            assert program.process.stdout is not None
            program.process.stdout._transport.close()  # type: ignore[attr-defined]
            release.set()
            async with asyncio.timeout(20):
                code = await program.process.wait()
                assert program.process.stderr is not None
                err = (await program.process.stderr.read()).decode()
        async with asyncio.timeout(5):
            await server.streams[0].disconnected.wait()
    assert code == 1
    assert len(err.splitlines()) == 1
    assert err.startswith("session ")


async def test_a_reader_that_stalls_delays_no_interrupt(tmp_path: Path) -> None:
    begun, stopped = in_workspace(tmp_path, "begun"), in_workspace(tmp_path, "stopped")
    command = f"trap 'echo > {stopped}; exit' TERM; echo > {begun}; while :; do sleep 0.05; done"
    flood = [text("x" * 60_000 + "\n") for _ in range(40)]
    calls = tool_call("c", "Bash", {"command": command})
    async with LoopbackServer([Answer(*flood, calls, finish("tool_calls"), DONE)]) as server:
        args = ("run", "--approve", "all", "x")
        async with started(tmp_path, *args, base_url=server.base_url, deaf=True) as program:
            async with asyncio.timeout(20):
                await asyncio.to_thread(begun.read_text)
                program.signal(signal.SIGINT)
                await asyncio.to_thread(stopped.read_text)
                program.signal(signal.SIGINT)
                assert await program.process.wait() == 130


async def test_a_key_that_a_server_repeats_is_blacked_out(tmp_path: Path) -> None:
    refused = json_answer({"error": {"message": f"wrong key: {KEY}"}}, status=401)
    async with LoopbackServer([refused, refused]) as server:
        shown = await ran(tmp_path, "run", "hi", base_url=server.base_url)
        lines = await ran(tmp_path, "run", "--json", "hi", base_url=server.base_url)
    for ended in (shown, lines):
        assert ended.code == 1
        assert KEY not in ended.out + ended.err
    assert "wrong key" in shown.err


async def test_no_words_of_a_model_can_move_the_terminal_but_tabs_stay(tmp_path: Path) -> None:
    hostile = "a\tb\x1b]0;title\x07c\x1b[2Jd\x9b31me\r\nf"
    bad_call = call("Read", {"file_path": "\x1b[2Jx\nsession 12345678: forged"})
    async with LoopbackServer([Answer(text(hostile), finish(), DONE), bad_call, say("ok")]) as server:
        first = await ran(tmp_path, "run", "hi", base_url=server.base_url)
        second = await ran(tmp_path, "run", "hi", base_url=server.base_url)
    assert first.out == "a\tbcde\nf\n"
    assert not set(first.err + second.err) & {"\x1b", "\x9b", "\x07", "\r"}
    assert [line for line in second.err.splitlines() if line.startswith("session ")] == [
        second.err.splitlines()[0]
    ]
