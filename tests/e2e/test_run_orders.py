"""What a program tells `agent-tui run --json` to do: each verb, its reply, and what is refused with words."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from headless_program import Program, started
from headless_schema import check_line
from loopback import DONE, HANG, Answer, LoopbackServer, call, finish, say, text, usage

ASK = ("run", "--json", "--approve", "ask")


async def told(program: Program, id: object, **order: object) -> dict[str, Any]:
    """Send an order, and return its reply."""
    program.send(id=id, **order)
    reply = await program.until(lambda line: line["type"] == "Reply" and line["id"] == id)
    check_line(reply)
    return reply


async def ok(program: Program, id: object, **order: object) -> dict[str, Any]:
    reply = await told(program, id, **order)
    assert reply["error"] is None, reply
    result: dict[str, Any] = reply["ok"]
    return result


async def state(program: Program, wanted: str) -> None:
    await program.until(lambda line: line["type"] == "StateChanged" and line["state"] == wanted)


def hangs() -> Answer:
    return Answer(text("so far"), HANG)


async def test_prompts_are_queued_listed_changed_and_taken_back(tmp_path: Path) -> None:
    async with LoopbackServer([hangs(), say("two"), say("three")]) as server:
        async with started(tmp_path, *ASK, "one", base_url=server.base_url, stdin=PIPE) as program:
            await state(program, "streaming")
            queued = [
                (await ok(program, number, type="prompt", text=words))["prompts"][0]
                for number, words in enumerate(("a", "b", "c"))
            ]
            assert [each["queued"] for each in queued] == [True] * 3
            first, second, third = (each["prompt_id"] for each in queued)
            assert await ok(program, "back", type="unqueue", prompt_id=second) == {"text": "b"}
            assert (await told(program, "again", type="unqueue", prompt_id=second))["error"] == "too_late"
            await ok(program, "edit", type="edit_queued", prompt_id=third, text="c, please")
            await ok(program, "move", type="move_queued", prompt_id=third, index=0)
            (row,) = (await ok(program, "list", type="list"))["agents"]
            assert row["queue"] == [[third, "c, please"], [first, "a"]]
            assert (row["state"], row["busy"], row["mode"]) == ("streaming", True, "ask")
            assert (await told(program, "go", type="go_on"))["error"] == "busy"
            assert (await told(program, "compact", type="compact"))["error"] == "busy"
            assert await ok(program, "stop", type="interrupt") == {"count": 1}
            await state(program, "interrupted")
            assert await ok(program, "now", type="go_on") == {}
            program.end_input()
            ended = await program.end()
    said = [request.json["messages"][-1]["content"] for request in server.requests]
    assert (said, ended.code) == (["one", "c, please", "a"], 0)


async def test_agents_come_and_go_and_each_line_says_whose_it_is(tmp_path: Path) -> None:
    async with LoopbackServer(lambda _request: say("hello")) as server:
        async with started(tmp_path, *ASK, "hi", base_url=server.base_url, stdin=PIPE) as program:
            added = await ok(program, 1, type="new", name="bea")
            assert added["agent"]["name"] == "bea"
            assert [line["agent"]["name"] for line in program.lines if line["type"] == "AgentAdded"] == [
                "bea"
            ]
            (prompt,) = (await ok(program, 2, type="prompt", agent="bea", text="and you?"))["prompts"]
            await program.until(
                lambda line: line["type"] == "RunEnded" and line["agent_id"] == added["agent"]["id"]
            )
            history = await ok(program, 3, type="history", agent="bea")
            assert [message["role"] for message in history["messages"]] == ["user", "assistant"]
            assert history["messages"][0]["id"] == prompt["prompt_id"]
            assert history["more"] is False
            last = await ok(program, 4, type="history", agent="bea", count=1)
            assert (last["messages"][0]["blocks"][0]["text"], last["more"]) == ("hello", True)
            before = await ok(
                program, 5, type="history", agent="bea", before=last["messages"][0]["id"], count=1
            )
            assert before["messages"][0]["role"] == "user"
            await ok(program, 6, type="close", agent="bea")
            assert [line["type"] for line in program.lines[-2:]] == ["WorkerClosed", "Reply"]
            assert len((await ok(program, 7, type="list"))["agents"]) == 1
            assert (await told(program, 8, type="prompt", agent="bea", text="x"))["error"] == "unknown"
            program.end_input()
            ended = await program.end()
    assert ended.code == 0


EACH_WAY: list[dict[str, Any]] = [
    {"once": True},
    {"deny": {"reason": "not two"}},
    {"always": {}},
    {"edited": {"input": {"command": "touch four"}}},
    {"deny": {"stop": True}},
]


async def test_a_question_is_answered_in_each_way_of_the_one_verb(tmp_path: Path) -> None:
    commands = ["one", "two", "three", "three", "five", "six"]
    answers = [call("Bash", {"command": f"touch {name}"}, id=name) for name in commands]
    async with LoopbackServer([*answers, say("never")]) as server:
        async with started(tmp_path, *ASK, "go", base_url=server.base_url, stdin=PIPE) as program:
            for number, answer in enumerate(EACH_WAY):
                asked = await program.until(lambda line: line["type"] == "ApprovalRequested")
                request = asked["request"]
                listed = (await ok(program, f"list-{number}", type="list"))["asked"]
                assert [each["id"] for each in listed] == [request["id"]]
                rule = {"request_id": request["id"], "rule": "Bash(rm *)"}
                if number == 0:
                    assert (await ok(program, "check", type="rule_check", **rule))["problem"]
                    both = await told(
                        program, "both", type="answer", request_id=request["id"], once=True, deny={}
                    )
                    assert both["error"] == "not_understood"
                settled = await ok(program, number, type="answer", request_id=request["id"], **answer)
                assert settled == {"settled": 1}
                late = await told(
                    program, f"late-{number}", type="answer", request_id=request["id"], once=True
                )
                assert late["error"] == "too_late"
            await program.until(lambda line: line["type"] == "RunEnded")
            rules = await ok(program, "rules", type="rules")
            assert any("touch three" in row["title"] for row in rules["rows"])
            rooms = (await ok(program, "look", type="look"))["rooms"]
            assert rules["title"] in [room["title"] for room in rooms]
            nothing = await told(program, "act", type="act", reporter=rules["title"], row="none")
            assert nothing["error"] == "unknown"
            await ok(program, "end", type="stop_session")
            ended = await program.end()
    made = sorted(file.name for file in (tmp_path / "workspace").iterdir())
    assert (made, ended.code) == (["four", "one", "three"], 130)


async def test_a_mode_holds_from_the_next_call_on_and_a_conversation_is_summarised(tmp_path: Path) -> None:
    long = Answer(text("word " * 400), finish(), usage(900, 400), DONE)
    answers = [
        call("Write", {"file_path": "x", "content": "1"}),
        long,
        say("more"),
        say("A summary."),
    ]
    async with LoopbackServer(answers) as server:
        async with started(tmp_path, *ASK, base_url=server.base_url, stdin=PIPE) as program:
            assert await ok(program, 1, type="mode", mode="accept-edits") == {}
            await ok(program, 2, type="prompt", text="go")
            await program.until(lambda line: line["type"] == "RunEnded")
            await ok(program, 3, type="prompt", text="more")
            await program.until(lambda line: line["type"] == "RunEnded")
            assert (await told(program, 4, type="undo_compaction"))["error"] == "too_late"
            await ok(program, 5, type="compact")
            await program.until(lambda line: line["type"] == "Compacted")
            await state(program, "idle")
            await ok(program, 6, type="undo_compaction")
            assert (await ok(program, 7, type="ping"))["now"] > 0
            program.end_input()
            ended = await program.end()
    assert (tmp_path / "workspace" / "x").read_text() == "1"
    assert not [line for line in ended.lines if line["type"] == "ApprovalRequested"]
    assert ended.code == 0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"type": "fly"}, "there is no verb 'fly'"),
    ({}, "type is missing"),
    ({"type": ["prompt"]}, "no verb"),
    ({"type": "prompt"}, "text"),
    ({"type": "prompt", "text": " "}, "empty"),
    ({"type": "prompt", "text": "x", "agnt": "ann"}, "agnt"),
    ({"type": "prompt", "text": "x", "now": "yes"}, "now"),
    ({"type": "mode", "mode": "wild"}, "wild"),
    ({"type": "history", "count": 0}, "from 1 to"),
    ({"type": "move_queued", "prompt_id": "x", "index": -1}, "from 0"),
    ({"type": "answer", "request_id": "x"}, "one of once"),
    ({"type": "answer", "request_id": "x", "always": {"rule": "Bash(ls"}}, "not a rule"),
    ({"type": "add_agent", "profile": "nobody"}, "there is no profile"),
    ({"type": "remove_agent", "agent": "nobody\x1b[2J"}, "there is no agent"),
    ({"type": "history", "before": "nothing"}, "there is no message"),
    ({"type": "form", "form_id": "x"}, "no such form"),
    ({"type": "act", "reporter": "Nowhere", "row": "x"}, "no room"),
]


async def test_what_cannot_be_carried_out_is_told_in_words_under_its_id(tmp_path: Path) -> None:
    async with LoopbackServer([say("still here")]) as server:
        async with started(tmp_path, *ASK, base_url=server.base_url, stdin=PIPE) as program:
            for number, (order, words) in enumerate(REFUSED):
                reply = await told(program, f"n{number}", **order)
                assert reply["error"] in {"not_understood", "unknown", "too_late", "failed"}, order
                assert words in reply["words"], (order, reply["words"])
                assert "\x1b" not in reply["words"]
                assert reply["ok"] is None
            for bad in (True, "", "x" * 201, 1.5, ["x"]):
                program.send(type="ping", id=bad)
                refused = await program.until(lambda line: line["type"] == "InputRefused")
                assert "id should be" in refused["reason"]
            await ok(program, "last", type="prompt", text="go")
            program.end_input()
            ended = await program.end()
    assert (ended.code, len(server.requests)) == (0, 1)


async def test_an_id_that_is_used_again_acts_once_and_another_order_under_it_is_refused(
    tmp_path: Path,
) -> None:
    async with LoopbackServer([say("one")]) as server:
        async with started(tmp_path, *ASK, base_url=server.base_url, stdin=PIPE) as program:
            first = await told(program, "p", type="prompt", text="go")
            again = await told(program, "p", type="prompt", text="go")
            assert (again["ok"], again["error"]) == (first["ok"], None)
            assert "not again" in again["words"]
            other = await told(program, "p", type="prompt", text="something else")
            assert other["error"] == "not_understood"
            assert "used before" in other["words"]
            program.end_input()
            ended = await program.end()
    assert (ended.code, len(server.requests)) == (0, 1)


async def test_a_prompt_is_queued_before_it_connects(tmp_path: Path) -> None:
    async with LoopbackServer([say("one")]) as server:
        async with started(tmp_path, "run", "--json", "go", base_url=server.base_url) as program:
            ended = await program.end()
    states = [line["state"] for line in ended.of_type("StateChanged")]
    assert list(dict.fromkeys(states)) == ["queued", "connecting", "streaming", "idle"]


@pytest.mark.parametrize("many", [300])
async def test_a_flood_of_orders_is_answered_in_order(tmp_path: Path, many: int) -> None:
    async with LoopbackServer() as server:
        async with started(tmp_path, *ASK, base_url=server.base_url, stdin=PIPE) as program:
            lines = [json.dumps({"type": "ping", "id": number}) for number in range(many)]
            program.send_raw("\n".join(lines).encode() + b"\n")
            program.end_input()
            ended = await program.end()
    assert [line["id"] for line in ended.of_type("Reply")] == list(range(many))
