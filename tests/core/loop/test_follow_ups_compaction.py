"""After room was made, by itself or by hand, undone or resumed, each protocol's next request is accepted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.runtime.session import Session, open_session
from loopback import HANG, Answer, LoopbackServer, Request, Script, json_answer
from protocols import CHAT, Speech, over_protocols, say
from sessions import Reader, settled
from strict_validator import check_chat_request

SUMMARY = "They looked around twice."
FULL = json_answer({"error": {"message": "maximum context length is 100 tokens"}}, status=400)


def judged(speech: Speech, answers: Iterable[Answer]) -> Script:
    """The answers in turn, each request judged by the rules of its protocol before it gets one."""
    left = iter(answers)

    def script(request: Request) -> Answer:
        speech.rules(request.json)
        if speech is CHAT:
            check_chat_request(request.json)
        return next(left)

    return script


def looking(speech: Speech, number: int) -> Answer:
    """Words and two calls, after sealed reasoning where the protocol itself has that."""
    w = speech.writer()
    thought = b"" if speech is CHAT else w.thought("hm", f"seal{number}")
    calls = [(f"call_{number}_{place}", "Glob", ['{"pattern":', ' "*"}']) for place in (1, 2)]
    return Answer(thought, w.text("I look."), w.calls(*calls), w.end("tool_use"))


def turn(speech: Speech, number: int, tokens: int = 50) -> list[Answer]:
    w = speech.writer()
    return [looking(speech, number), Answer(w.text(f"Done {number}."), w.end(usage=(tokens, 10, 0)))]


def planned(speech: Speech, base_url: str, folder: Path, limit: int | None = None) -> Plan:
    config, workspace = folder / "config", folder / "workspace"
    config.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    provider = f'[providers.mine]\nbase_url = "{base_url}"\nprotocol = "{speech.name}"\n'
    (config / "config.toml").write_text(provider)
    environ = {"AGENT_TUI_DATA_DIR": str(folder / "data"), "AGENT_TUI_CONFIG_DIR": str(config)}
    made = plan(load_settings(None, environ=environ), Flags(model="m", workspace=workspace), environ)
    return replace(made, agents=(replace(made.profiles["default"], name="a", context_limit=limit),))


async def prompted(session: Session, *words: str) -> None:
    for each in words:
        session.workers[0].prompt(each)
        await settled(session)
        shown = Reader(session.workers[0]).read()
        assert (shown.state, shown.detail) == ("idle", "")


def sent(server: LoopbackServer, number: int = -1) -> str:
    body: dict[str, Any] = server.requests[number].json
    return json.dumps(body.get("messages") or body["input"])


@over_protocols
async def test_room_that_is_made_near_the_limit_leaves_calls_with_their_results(
    speech: Speech, tmp_path: Path
) -> None:
    answers = [*turn(speech, 1), *turn(speech, 2, 4_000), say(speech, SUMMARY), *turn(speech, 3)]
    async with LoopbackServer(judged(speech, answers)) as server:
        async with open_session(planned(speech, server.base_url, tmp_path, limit=4_500)) as session:
            await prompted(session, "look around", "again", "and now?")
            assert session.workers[0].conversation.compaction is not None
    assert len(server.requests) == 7
    assert SUMMARY in sent(server, 5)
    assert "look around" not in sent(server)


@over_protocols
async def test_room_that_is_made_when_the_provider_is_full_leaves_calls_with_their_results(
    speech: Speech, tmp_path: Path
) -> None:
    full_at_once = [*turn(speech, 1), FULL, say(speech, SUMMARY), *turn(speech, 2)]
    full_after_calls = [looking(speech, 3), FULL, say(speech, SUMMARY), say(speech, "Done 3.")]
    async with LoopbackServer(judged(speech, [*full_at_once, *full_after_calls])) as server:
        async with open_session(planned(speech, server.base_url, tmp_path)) as session:
            await prompted(session, "look around", "again", "once more")
    assert len(server.requests) == 10
    assert SUMMARY in sent(server)


@over_protocols
@pytest.mark.parametrize("resumed", [False, True], ids=["at once", "after a resume"])
async def test_a_summary_that_was_asked_for_and_undone_leaves_requests_that_are_accepted(
    speech: Speech, tmp_path: Path, resumed: bool
) -> None:
    turns = [answer for number in (4, 5) for answer in turn(speech, number)]
    before = [*turn(speech, 1), *turn(speech, 2), looking(speech, 3), say(speech, "Done 3.")]
    async with LoopbackServer(judged(speech, [*before, say(speech, SUMMARY), *turns])) as server:
        the_plan = planned(speech, server.base_url, tmp_path)
        async with open_session(the_plan) as session:
            await prompted(session, "look around", "again", "once more")
            assert session.workers[0].compact()
            await settled(session)
            if not resumed:
                await _go_on_and_undo(session, server)
        if resumed:
            async with open_session(the_plan, resume="") as again:
                await _go_on_and_undo(again, server)
    assert len(server.requests) == len(before) + 1 + len(turns)


async def _go_on_and_undo(session: Session, server: LoopbackServer) -> None:
    await prompted(session, "with a summary")
    assert SUMMARY in sent(server)
    assert "look around" not in sent(server)
    assert await session.workers[0].undo_compaction()
    await prompted(session, "without it")
    assert SUMMARY not in sent(server)
    assert "look around" in sent(server)


@over_protocols
async def test_an_interrupt_while_room_is_made_leaves_a_request_that_is_accepted(
    speech: Speech, tmp_path: Path
) -> None:
    w = speech.writer()
    stuck = Answer(w.text("They loo"), HANG)
    answers = [*turn(speech, 1), *turn(speech, 2), stuck, *turn(speech, 3)]
    async with LoopbackServer(judged(speech, answers)) as server:
        async with open_session(planned(speech, server.base_url, tmp_path)) as session:
            await prompted(session, "look around", "again")
            assert session.workers[0].compact()
            await server.until(lambda: server.open_now == 1)
            session.workers[0].interrupt()
            await settled(session)
            await prompted(session, "and now?")
    assert "look around" in sent(server)
    assert "They loo" not in sent(server)
