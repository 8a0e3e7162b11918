"""`agent-tui run --json` for programs: lines out as docs/headless.md has them, orders in."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from headless_program import Program, ran, started
from headless_schema import check_line
from loopback import DONE, HANG, Answer, LoopbackServer, call, finish, say, text

PIPE = asyncio.subprocess.PIPE
ASK = ("run", "--json", "--approve", "ask")


def check(lines: list[dict[str, Any]], *, first_seq: int = 1) -> None:
    """One schema, in order, without gaps."""
    assert lines[0]["type"] == "SessionOpened"
    assert lines[-1]["type"] == "SessionClosed"
    counted: dict[str | None, int] = {}
    for line in lines:
        check_line(line)
        agent = line["agent_id"]
        expected = counted.get(agent, 0 if agent is None else first_seq - 1) + 1
        assert line["seq"] == expected
        counted[agent] = expected


async def test_each_line_is_one_event_as_documented_and_nothing_else_is_printed(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x9b31m\x7f ü \U0001f600 \u2028"
    answers = [
        call("Bash", {"command": "touch one; printf '\\033[2J\\377'", "timeout": 5}, words=hostile),
        say("\udc00 done"),
    ]
    async with LoopbackServer(answers) as server:
        ended = await ran(tmp_path, "run", "--json", "--approve", "all", "go", base_url=server.base_url)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.isascii()
    assert not set(ended.out) & {"\x1b", "\x7f", "\r"}
    check(ended.lines)
    opened = ended.lines[0]
    assert opened["agents"][0] | {"id": "", "provider": ""} == {
        "id": "",
        "name": "agent-1",
        "model": "m",
        "provider": "",
        "workspace": str((tmp_path / "workspace").resolve()),
    }
    pieces = "".join(line["text"] for line in ended.of_type("TextDelta"))
    assert pieces.startswith(hostile)
    assert ended.of_type("ToolJudged")[0]["by"] == "policy"
    assert ended.of_type("RunEnded")[0]["end"] == "completed"
    assert ended.lines[-1]["code"] == 0


async def test_lines_leave_while_the_model_speaks(tmp_path: Path) -> None:
    release = asyncio.Event()
    async with LoopbackServer([Answer(text("Hel"), release, text("lo"), finish(), DONE)]) as server:
        async with started(tmp_path, "run", "--json", "hi", base_url=server.base_url) as program:
            assert (await program.until_type("TextDelta"))["text"] == "Hel"
            release.set()
            check((await program.end()).lines)


async def test_a_denial_without_a_policy_is_told_to_model_program_and_person(tmp_path: Path) -> None:
    async with LoopbackServer([call("Bash", {"command": "git push"}), say("ok")]) as server:
        ended = await ran(tmp_path, "run", "--json", "go", base_url=server.base_url)
        told = server.requests[1].json["messages"][-1]["content"]
    [judged] = ended.of_type("ToolJudged")
    assert (judged["allowed"], judged["by"]) == (False, "policy")
    assert ended.of_type("ApprovalRequested") == []
    for words in (told, judged["reason"], ended.err):
        assert "--approve 'Bash(git push)'" in words


async def asked(program: Program) -> dict[str, Any]:
    request: dict[str, Any] = (await program.until_type("ApprovalRequested"))["request"]
    return request


async def test_a_program_answers_questions_in_each_way(tmp_path: Path) -> None:
    answers = [
        call("Bash", {"command": "touch one"}, id="a"),
        call("Bash", {"command": "touch two"}, id="b"),
        call("Bash", {"command": "touch three"}, id="c"),
        call("Bash", {"command": "touch three"}, id="d"),
        call("Bash", {"command": "touch five"}, id="e"),
        call("Bash", {"command": "touch six"}, id="f"),
    ]
    async with LoopbackServer(answers) as server:
        async with started(tmp_path, *ASK, "go", base_url=server.base_url, stdin=PIPE) as program:
            program.send(type="approve", request_id=(await asked(program))["id"])
            program.send(type="deny", request_id=(await asked(program))["id"], reason="not two")
            program.send(type="approve", request_id=(await asked(program))["id"], remember=True)
            changed = {"command": "touch four"}
            program.send(type="approve", request_id=(await asked(program))["id"], input=changed)
            program.send(type="deny", request_id=(await asked(program))["id"], stop=True)
            await program.until_type("RunEnded")
            program.send(type="quit")
            ended = await program.end()
    workspace = tmp_path / "workspace"
    assert sorted(file.name for file in workspace.iterdir()) == ["four", "one", "three"]
    assert "not two" in server.requests[2].json["messages"][-1]["content"]
    assert ended.code == 130
    assert [line["answer"] for line in ended.of_type("ApprovalSettled")] == [
        *("allowed", "denied", "remembered", "allowed", "denied")
    ]
    check(ended.lines)


NOT_UNDERSTOOD = [
    b"hello",
    b"[]",
    b'{"type": "approve"}',
    b'{"type": "promt", "text": "x"}',
    b'{"type": "prompt", "text": "x", "agnt": "ann"}',
    b'{"type": "prompt", "text": " "}',
    b'{"type": "prompt", "text": "x", "agent": "nobody\\u001b[2J"}',
    b'{"type": "prompt", "text": 3}',
    b'{"type": "approve", "request_id": "unknown"}',
    b'{"type": "approve", "request_id": "unknown", "remember": true}',
    b'{"type": "approve", "request_id": "x", "remember": "Bash(ls"}',
    b'{"type": "approve", "request_id": "x", "remember": true, "input": {}}',
    b'{"type": "deny", "request_id": "unknown", "stop": true}',
    b'{"type": "quit", "now": true}',
    b"\xff\xfe",
    b"[" * 100_000,
]


async def test_lines_that_are_not_understood_are_refused_and_change_nothing(tmp_path: Path) -> None:
    async with LoopbackServer([call("Bash", {"command": "touch one"}), say("ok")]) as server:
        async with started(tmp_path, *ASK, "go", base_url=server.base_url, stdin=PIPE) as program:
            request = await asked(program)
            for number, line in enumerate(NOT_UNDERSTOOD, 1):
                program.send_raw(b"\n" + line + b"\n")
                refused = await program.until_type("InputRefused")
                assert refused["line"] == 2 * number, line[:80]
                assert refused["reason"], line[:80]
            assert not (tmp_path / "workspace" / "one").exists()
            program.send(type="approve", request_id=request["id"])
            await program.until_type("RunEnded")
            program.end_input()
            ended = await program.end()
    assert ended.code == 0
    assert [line["type"] for line in ended.lines].count("InputRefused") == len(NOT_UNDERSTOOD)
    assert (tmp_path / "workspace" / "one").exists()
    check(ended.lines)


async def test_an_answer_that_comes_too_late_is_refused(tmp_path: Path) -> None:
    async with LoopbackServer([call("Bash", {"command": "touch one"}), say("ok")]) as server:
        async with started(tmp_path, *ASK, "go", base_url=server.base_url, stdin=PIPE) as program:
            request = await asked(program)
            program.send(type="deny", request_id=request["id"])
            program.send(type="approve", request_id=request["id"])
            refused = await program.until_type("InputRefused")
            assert "settled or withdrawn" in refused["reason"]
            program.send(type="quit")
            await program.end()


async def test_prompts_come_one_after_the_other_and_the_end_of_input_waits_for_them(tmp_path: Path) -> None:
    orders = [{"type": "prompt", "text": words} for words in ("one", "two", "three")]
    given = b"".join(json.dumps(order).encode() + b"\n" for order in orders).rstrip(b"\n")
    async with LoopbackServer([say("1"), say("2"), say("3")]) as server:
        ended = await ran(tmp_path, "run", "--json", base_url=server.base_url, given=given)
    assert ended.code == 0
    assert [line["end"] for line in ended.of_type("RunEnded")] == ["completed"] * 3
    assert [request.json["messages"][-1]["content"] for request in server.requests] == ["one", "two", "three"]
    check(ended.lines)


async def test_a_prompt_goes_to_the_agent_that_it_names_and_cancel_stops_that_one(tmp_path: Path) -> None:
    async with LoopbackServer([Answer(text("on and on"), HANG), say("hello")]) as server:
        args = ("run", "--json", "-a", "ann", "-a", "rob")
        async with started(tmp_path, *args, base_url=server.base_url, stdin=PIPE) as program:
            opened = await program.until_type("SessionOpened")
            ids = {agent["name"]: agent["id"] for agent in opened["agents"]}
            program.send(type="prompt", agent="ann", text="go on")
            assert (await program.until_type("TextDelta"))["agent_id"] == ids["ann"]
            program.send(type="prompt", agent=ids["rob"], text="hi")
            await program.until(lambda line: line["type"] == "RunEnded" and line["agent_id"] == ids["rob"])
            program.send(type="cancel", agent="ann")
            stopped = await program.until_type("RunEnded")
            assert (stopped["agent_id"], stopped["end"]) == (ids["ann"], "interrupted")
            program.end_input()
            ended = await program.end()
    assert ended.code == 130
    check(ended.lines)


async def test_when_the_input_ends_open_questions_are_denied(tmp_path: Path) -> None:
    calls = [
        call("Bash", {"command": "touch one"}),
        call("Bash", {"command": "touch two"}, id="b"),
        say("ok"),
    ]
    async with LoopbackServer(calls) as server:
        async with started(tmp_path, *ASK, "go", base_url=server.base_url, stdin=PIPE) as program:
            await asked(program)
            program.end_input()
            ended = await program.end()
    assert ended.code == 0
    assert list((tmp_path / "workspace").iterdir()) == []
    assert [line["by"] for line in ended.of_type("ToolJudged")] == ["policy", "policy"]
    assert "the input ended" in ended.of_type("ToolJudged")[0]["reason"]


async def test_quit_interrupts_what_runs(tmp_path: Path) -> None:
    async with LoopbackServer([Answer(text("half"), HANG)]) as server:
        async with started(tmp_path, "run", "--json", "go", base_url=server.base_url, stdin=PIPE) as program:
            await program.until_type("TextDelta")
            program.send(type="quit")
            ended = await program.end()
        async with asyncio.timeout(5):
            await server.streams[0].disconnected.wait()
    assert ended.code == 130
    assert ended.lines[-1]["code"] == 130


async def test_a_question_about_a_protected_name_can_be_answered_but_not_remembered(tmp_path: Path) -> None:
    async with LoopbackServer([call("Write", {"file_path": ".env", "content": "x"}), say("ok")]) as server:
        args = (*ASK, "--approve", "Edit", "--approve", "Write", "go")
        async with started(tmp_path, *args, base_url=server.base_url, stdin=PIPE) as program:
            request = await asked(program)
            assert request["remember"] is None
            program.send(type="approve", request_id=request["id"], remember=True)
            await program.until_type("InputRefused")
            program.send(type="approve", request_id=request["id"])
            await program.until_type("RunEnded")
            program.send(type="quit")
            await program.end()
    assert (tmp_path / "workspace" / ".env").read_text() == "x"


async def test_a_resumed_session_tells_only_what_is_new(tmp_path: Path) -> None:
    async with LoopbackServer([say("first"), say("second")]) as server:
        first = await ran(tmp_path, "run", "--json", "one", base_url=server.base_url)
        known = first.lines[0]["session_id"]
        second = await ran(tmp_path, "run", "--json", "--resume", known, "two", base_url=server.base_url)
    assert second.lines[0]["session_id"] == known
    assert "".join(line["text"] for line in second.of_type("TextDelta")) == "second"
    assert len(second.of_type("RunStarted")) == 1
    own = [line for line in second.lines if line["agent_id"] is not None]
    assert [line["seq"] for line in own] == list(range(own[0]["seq"], own[0]["seq"] + len(own)))


async def test_the_demo_runs_without_a_person_in_both_forms(tmp_path: Path) -> None:
    lines = await ran(tmp_path, "run", "--demo", "--json", "--approve", "all")
    assert lines.code == 0
    check(lines.lines)
    assert len(lines.of_type("RunEnded")) == 4
    words = await ran(tmp_path, "run", "--demo", "-n", "1", "hello")
    assert words.code == 0
    assert "demo model" in words.out
