"""Owns the proof of what a program gets for a prompt: something to await, whatever becomes of the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core import (
    HookDecision,
    Hooks,
    Image,
    PromptRun,
    Session,
    Text,
    UserPromptSubmitEvent,
    Worker,
    message_from_json,
    open_session,
    session_plan,
)
from agent_tui_core.errors import BadRequest
from agent_tui_core.events import TextDelta, UsageReported
from agent_tui_core.messages import Usage
from agent_tui_core.runtime.entries import UserEntry
from scripted import Answer, Scripted, call, calls, says
from sessions import Reader, settled

PICTURE = Image("data:image/png;base64,aGk=")


@asynccontextmanager
async def opened(
    folder: Path, *answers: Answer, model: Scripted | None = None, **more: Any
) -> AsyncIterator[tuple[Worker, Session]]:
    plan = session_plan(workspace=folder, data_dir=folder / "data", environ={})
    given = model or Scripted(list(answers))
    async with asyncio.timeout(20), open_session(plan, provider=given, **more) as session:
        yield session.workers[0], session


def told(run: PromptRun) -> tuple[str | None, str, str | None]:
    return run.end, run.reason, None if run.message is None else run.message.text


async def test_a_prompt_can_be_awaited_and_has_its_message_end_and_usage(tmp_path: Path) -> None:
    counted = UsageReported(Usage(input_tokens=7, output_tokens=2))
    answers = [[counted, *calls(call("Read", {"file_path": "no"}))], [counted, *says("done")]]
    async with opened(tmp_path, *answers) as (worker, _):
        run = worker.prompt("go")
        assert (run.done, *told(run)) == (False, None, "", None)
        last = await run
        assert (last.end, last.iterations, last.stop_reason) == ("completed", 2, "end")
        assert told(run) == ("completed", "", "done")
        assert (run.usage.input_tokens, run.usage.output_tokens) == (14, 4)
        assert worker.conversation.messages[0].id == run.prompt_id
        assert last.message == worker.conversation.messages[-1]
        assert await run is last


async def test_prompts_that_wait_have_runs_of_their_own_answers(tmp_path: Path) -> None:
    async with opened(tmp_path, says("one"), says("two"), says("three")) as (worker, _):
        runs = [worker.prompt(words) for words in ("a", "b", "c")]
        ends = await asyncio.gather(*runs)
        assert [each.message.text if each.message else "" for each in ends] == ["one", "two", "three"]


async def test_a_session_starts_all_agents_and_returns_a_run_of_each(tmp_path: Path) -> None:
    async with opened(tmp_path, says("hello")) as (_, session):
        (run,) = session.start("hi")
        assert (await run).end == "completed"


async def test_each_end_is_told_by_the_run(tmp_path: Path) -> None:
    def no_bombs(event: UserPromptSubmitEvent) -> HookDecision | None:
        return HookDecision.block("no bombs") if "bomb" in event.prompt else None

    never = asyncio.Event()
    model = Scripted([[TextDelta("half"), never], [BadRequest("no such model")]])
    hooks = Hooks().add_user_prompt_submit(no_bombs)
    async with opened(tmp_path, model=model, hooks=hooks) as (worker, _):
        reader = Reader(worker)
        stopped = worker.prompt("one")
        await reader.until(lambda transcript: transcript.state == "streaming")
        back = worker.prompt("never sent")
        assert worker.unqueue(back.prompt_id) == "never sent"
        assert worker.interrupt()
        await stopped
        assert told(stopped) == ("interrupted", "by you", "half")
        assert told(back) == ("interrupted", "taken back before it was sent", None)
        failed = worker.prompt("two")
        assert (await failed).end == "failed"
        assert "no such model" in failed.reason
        blocked = worker.prompt("a bomb")
        assert (await blocked).end == "failed"
        assert blocked.reason == "blocked by a hook: no bombs"
        assert told(worker.prompt("  ")) == ("failed", "the prompt is empty", None)
        early = worker.prompt("three")
        worker.interrupt()
        assert (await early).end == "interrupted"


async def test_what_still_waits_when_an_agent_goes_has_an_end_too(tmp_path: Path) -> None:
    async with opened(tmp_path, [TextDelta("half"), asyncio.Event()]) as (worker, session):
        reader = Reader(worker)
        running = worker.prompt("one")
        await reader.until(lambda transcript: transcript.state == "streaming")
        waits = worker.prompt("two")
        await session.remove_worker(worker.id)
        assert (await running).end == "interrupted"
        assert told(waits) == ("interrupted", "the agent is gone", None)
        assert told(worker.prompt("three")) == ("failed", "the agent is gone", None)


async def test_a_wait_that_is_cancelled_changes_nothing(tmp_path: Path) -> None:
    release = asyncio.Event()
    async with opened(tmp_path, [TextDelta("a"), release, *says("b")]) as (worker, _):
        run = worker.prompt("go")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run, 0.01)
        release.set()
        assert (await run).end == "completed"


async def test_pictures_reach_the_model_the_history_and_the_pane(tmp_path: Path) -> None:
    model = Scripted([says("red"), says("blue")])
    async with opened(tmp_path, model=model) as (worker, session):
        reader = Reader(worker)
        await worker.prompt([Text("Which colour has "), PICTURE, Text("this?")])
        await worker.prompt([PICTURE])
        assert model.requests[0].messages[0].blocks == (Text("Which colour has "), PICTURE, Text("this?"))
        said = [entry.text for entry in reader.read().entries if isinstance(entry, UserEntry)]
        assert said == ["Which colour has \n\nthis?\n\n[image]", "[image]"]
        kept = session.id
    async with opened(tmp_path, says("green"), resume=kept) as (worker, _):
        assert worker.conversation.messages[2].blocks == (PICTURE,)
        assert (await worker.prompt("and now?")).end == "completed"


async def test_a_hook_that_rewrites_the_words_leaves_the_pictures(tmp_path: Path) -> None:
    hooks = Hooks().add_user_prompt_submit(lambda _event: HookDecision.modify_prompt("Better."))
    model = Scripted([says("ok")])
    async with opened(tmp_path, model=model, hooks=hooks) as (worker, _):
        await worker.prompt([PICTURE, Text("Worse.")])
    assert model.requests[0].messages[0].blocks == (Text("Better."), PICTURE)


async def test_a_picture_that_waits_survives_the_end_of_the_program(tmp_path: Path) -> None:
    async with opened(tmp_path, [TextDelta("half"), asyncio.Event()]) as (worker, session):
        await _streams(worker)
        waits = worker.prompt([Text("Look: "), PICTURE])
        assert worker.edit_queued(waits.prompt_id, "Look here: ")
        kept = session.id
    model = Scripted([says("one"), says("two")])
    async with opened(tmp_path, model=model, resume=kept) as (worker, session):
        assert worker.go_on()
        await settled(session)
        said = [message for message in worker.conversation.messages if message.role == "user"]
    assert (Text("Look here: "), PICTURE) in [message.blocks for message in said]


async def _streams(worker: Worker) -> None:
    worker.prompt("go")
    await Reader(worker).until(lambda transcript: transcript.state == "streaming")


async def test_what_is_no_prompt_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as (worker, _):
        with pytest.raises(TypeError, match="Text and Image"):
            worker.prompt(["hi"])  # type: ignore[list-item]  # what a caller might think
        assert not worker.busy


async def test_a_conversation_is_a_picture_of_its_moment_that_nobody_can_break(tmp_path: Path) -> None:
    wanted: dict[str, object] = {"file_path": "no", "more": [1]}
    model = Scripted([calls(call("Read", wanted)), says("done"), says("again")])
    async with opened(tmp_path, model=model) as (worker, _):
        await worker.prompt("go")
        before = worker.conversation
        for name in ("messages", "tokens"):
            with pytest.raises(AttributeError):
                setattr(before, name, ())
        given: Any = before.messages[1].tool_uses[0].input
        given["file_path"] = "broken"
        given["more"].append(2)
        assert worker.conversation.messages[1].tool_uses[0].input == wanted
        assert before.tokens > 0
        await worker.prompt("more")
        assert (len(before.messages), len(worker.conversation.messages)) == (4, 6)
        assert model.requests[-1].messages[1].tool_uses[0].input == wanted
        assert [message.role for message in before.request] == ["user", "assistant", "tool", "assistant"]


def test_a_message_by_hand_may_have_pictures() -> None:
    form = {"role": "user", "blocks": [{"type": "Image", "url": PICTURE.url}]}
    assert message_from_json(form).blocks == (PICTURE,)
