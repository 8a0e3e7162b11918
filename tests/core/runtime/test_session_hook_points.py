"""Sessions with command hooks at the points that are about no single call."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui_core.runtime.entries import UserEntry
from agent_tui_core.runtime.forms import Form
from agent_tui_core.runtime.prompting import MOST_TIMES_ON
from agent_tui_core.runtime.session import open_session
from hooked import BASH, configure, notices, says, told, written
from loopback import Answer, LoopbackServer, say
from sessions import Reader, answer_all, planned, settled, tool_answer, waiting


async def test_an_interrupt_during_a_prompt_hook_gives_the_prompt_back(tmp_path: Path) -> None:
    workspace = configure(tmp_path, {"UserPromptSubmit": [{"command": "echo x > begun; sleep 60"}]})
    async with LoopbackServer([]) as server, open_session(planned(server.base_url, tmp_path)) as session:
        reader = Reader(session.workers[0])
        session.workers[0].prompt("go")
        await written(workspace / "begun")
        session.workers[0].interrupt()
        await settled(session)
        returned = reader.read().returned
        assert returned is not None
        assert (returned.prompt, reader.read().state) == ("go", "interrupted")
        assert server.requests == []


async def test_a_stop_hook_makes_the_agent_go_on_and_can_not_do_so_for_ever(tmp_path: Path) -> None:
    line = """cat >> heard; echo '{"decision": "block", "reason": "run the tests"}'"""
    workspace = configure(tmp_path, {"Stop": [{"command": line}]})
    async with LoopbackServer(lambda _request: say("Done.")) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("go")
            await settled(session)
            assert len(server.requests) == 1 + MOST_TIMES_ON
            assert server.requests[1].json["messages"][-1]["content"] == "run the tests"
            said = [each.text for each in reader.read().entries if isinstance(each, UserEntry)]
            assert said == ["go", *["run the tests"] * MOST_TIMES_ON]
            assert reader.read().state == "idle"
            assert any("it rests now" in words for words in notices(reader.read()))
    heard = [json.loads(line) for line in (workspace / "heard").read_text().splitlines()]
    assert [each["stop_hook_active"] for each in heard] == [False, *[True] * MOST_TIMES_ON]
    assert heard[0]["last_assistant_message"] == "Done."


async def test_an_interrupt_during_a_stop_hook_does_not_give_back_a_prompt_that_was_answered(
    tmp_path: Path,
) -> None:
    workspace = configure(tmp_path, {"Stop": [{"command": "echo x > begun; sleep 60"}]})
    async with LoopbackServer([say("Done.")]) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("go")
            await reader.until(lambda t: t.detail == "Stop hooks")
            await written(workspace / "begun")
            session.workers[0].interrupt()
            await settled(session)
            assert (reader.read().state, reader.read().returned) == ("interrupted", None)


async def test_session_hooks_hear_of_the_beginning_once_and_of_the_end(tmp_path: Path) -> None:
    start = "cat >> begun; echo the build is red"
    end = "cat >> ended"
    workspace = configure(tmp_path, {"SessionStart": [{"command": start}], "SessionEnd": [{"command": end}]})
    async with LoopbackServer(lambda _request: say("Ok.")) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            for prompt in ("one", "two"):
                session.workers[0].prompt(prompt)
                await settled(session)
            first, second = (request.json["messages"] for request in server.requests)
            assert first[-1]["content"] == "one\n\nthe build is red"
            assert "the build is red" not in str(second[-1]["content"])
        plan = planned(server.base_url, tmp_path)
        async with open_session(plan, resume=session.id) as session:
            session.workers[0].prompt("three")
            await settled(session)
    begun = [json.loads(line) for line in (workspace / "begun").read_text().splitlines()]
    assert [each["source"] for each in begun] == ["startup", "resume"]
    assert begun[0]["session_id"] == begun[1]["session_id"] != ""
    assert (workspace / "ended").read_text().count("SessionEnd") == 2


async def test_a_hook_that_does_not_end_with_the_session_is_ended(tmp_path: Path) -> None:
    workspace = configure(tmp_path, {"SessionEnd": [{"command": "echo $$ > pid; sleep 60"}]})
    async with LoopbackServer(lambda _request: say("Ok.")) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("one")
            await settled(session)
        assert any("SessionEnd hooks took longer" in words for words in notices(reader.read()))
    assert not Path("/proc", (workspace / "pid").read_text().strip()).exists()


async def test_a_prompt_that_no_server_took_comes_back_without_what_hooks_added_and_they_add_it_again(
    tmp_path: Path,
) -> None:
    configure(tmp_path, {"SessionStart": [{"command": "echo the build is red"}]})
    script = [Answer(status=400), say("Ok.")]
    async with LoopbackServer(script) as server, open_session(planned(server.base_url, tmp_path)) as session:
        reader = Reader(session.workers[0])
        for _ in range(2):
            session.workers[0].prompt("one")
            await settled(session)
        returned = reader.read().returned
        assert returned is not None
        assert returned.prompt == "one"
        said = [each for each in reader.read().entries if isinstance(each, UserEntry)]
        assert [each.text for each in said] == ["one\n\nthe build is red"] * 2
        assert [each.returned is None for each in said] == [False, True]


@pytest.mark.parametrize(("rules", "asked"), [("", 0), ("ask = ['Bash(echo *)']", 1)])
async def test_a_permission_hook_answers_for_the_person_but_not_what_a_rule_asks(
    tmp_path: Path, rules: str, asked: int
) -> None:
    own = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    hooks = {"PermissionRequest": [{"command": says({"hookSpecificOutput": own})}]}
    configure(tmp_path, hooks, rules=f"[permissions]\n{rules}\n")
    answers = [tool_answer("Bash", BASH), say("Done.")]
    async with LoopbackServer(answers) as server, open_session(planned(server.base_url, tmp_path)) as session:
        session.workers[0].prompt("go")
        assert len(await answer_all(session)) == asked
        assert told(server) == "done"


async def test_a_notification_hook_hears_that_a_question_waits_and_ends_with_an_interrupt(
    tmp_path: Path,
) -> None:
    workspace = configure(tmp_path, {"Notification": [{"command": "cat > heard; echo $$ > pid; sleep 60"}]})
    async with LoopbackServer([tool_answer("Bash", BASH)]) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            session.workers[0].prompt("go")
            await waiting(session)
            pid = await written(workspace / "pid")
            heard = json.loads((workspace / "heard").read_text())
            assert heard["notification_type"] == "permission_prompt"
            assert "Bash" in heard["message"]
            session.workers[0].interrupt()
            await settled(session)
            assert not Path("/proc", pid).exists()


async def test_a_notification_hook_hears_that_a_form_waits_and_is_told_once(tmp_path: Path) -> None:
    hook = {"matcher": "elicitation_dialog", "command": "cat >> heard"}
    workspace = configure(tmp_path, {"Notification": [hook]})
    async with LoopbackServer([say("Ok.")]) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            session.workers[0].prompt("go")
            await settled(session)
            forms = session.equipment.forms
            form = Form("elicitation", "MCP server git", "Which branch?", {}, session.workers[0].id)
            two = (form, replace(form, id="2", urgent=False))
            asked = [asyncio.create_task(forms.ask(each)) for each in two]
            heard = json.loads(await written(workspace / "heard"))
            assert heard["message"] == "MCP server git asks: Which branch?"
            assert all(forms.answer(each.id, None) for each in forms.pending)
            await asyncio.gather(*asked)
    assert (workspace / "heard").read_text().count("elicitation_dialog") == 1


async def test_a_hook_that_has_nothing_to_block_says_its_reason_to_the_person(tmp_path: Path) -> None:
    configure(tmp_path, {"SessionStart": [{"command": says("", 2, "the build is red")}]})
    async with LoopbackServer([say("Ok.")]) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("go")
            await settled(session)
            assert any("the build is red" in words for words in notices(reader.read()))
            assert server.requests[0].json["messages"][-1]["content"] == "go"


@pytest.mark.parametrize("point", ["UserPromptSubmit", "SessionStart"])
async def test_a_hook_that_stops_the_agent_before_it_begins_keeps_the_prompt(
    tmp_path: Path, point: str
) -> None:
    configure(tmp_path, {point: [{"command": says({"continue": False, "stopReason": "not today"})}]})
    async with LoopbackServer([]) as server, open_session(planned(server.base_url, tmp_path)) as session:
        reader = Reader(session.workers[0])
        session.workers[0].prompt("go")
        await settled(session)
        returned = reader.read().returned
        assert returned is not None
        assert (returned.prompt, "not today" in returned.reason) == ("go", True)
        assert server.requests == []
