from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from agent_tui_core import (
    AgentOptions,
    Client,
    HookDecision,
    Hooks,
    Image,
    PermissionRules,
    PostToolUseEvent,
    PreToolUseEvent,
    Text,
    Tool,
    ToolOutput,
    ToolUse,
)
from agent_tui_core.agent.by_hand import UNANSWERED
from agent_tui_core.agent.conversation import CANCELLED
from agent_tui_core.blocks import ToolResult
from agent_tui_core.errors import ToolError
from agent_tui_core.events import AnswerEnded, RunEnded, ToolEnded, ToolJudged, ToolProposed, ToolUseDelta
from agent_tui_core.messages import Message
from scripted import Answer, Scripted, call, calls, says

NUMBERS: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}


def never(_input: dict[str, Any]) -> str:
    raise AssertionError("by hand no tool runs by itself")


ADD = Tool("add", "Add two numbers.", NUMBERS, never)
LOOK = Tool("look", "Look at something.", {"type": "object"}, never)
ONE_TWO: dict[str, Any] = {"a": 1, "b": 2}


def by_hand(*answers: Answer, **more: Any) -> tuple[Client, Scripted]:
    model = Scripted(list(answers))
    more.setdefault("tools", [ADD, LOOK])
    return Client(AgentOptions(model="m", provider=model, **more)), model


async def received(client: Client) -> list[Any]:
    blocks = []
    async with asyncio.timeout(10):
        while (block := await client.receive()) is not None:
            blocks.append(block)
    return blocks


def results(message: Message) -> list[tuple[str, str, bool]]:
    return [(each.tool_use_id, each.content, each.is_error) for each in message.tool_results]


async def test_a_call_that_a_hook_denies_is_answered_and_never_handed_over() -> None:
    hooks = Hooks().add_pre_tool_use(lambda _e: HookDecision.deny("not today"), "look")
    client, model = by_hand(
        calls(call("look", {}, id="c1"), call("add", ONE_TWO, id="c2", place=1)),
        says("so be it"),
        hooks=hooks,
    )
    async with client:
        await client.send("go")
        assert await received(client) == [ToolUse("c2", "add", ONE_TWO)]
        with pytest.raises(ValueError, match="already has its result"):
            client.add_tool_result("c1", "no")
        client.add_tool_result("c2", "3")
        await client.send()
        assert await received(client) == [Text("so be it")]
        answered = client.history[2]
    assert results(answered) == [("c1", "Denied by a hook: not today", True), ("c2", "3", False)]
    assert model.requests[1].messages[-1] == answered


async def test_the_run_goes_on_by_itself_when_all_calls_of_an_answer_were_denied() -> None:
    hooks = Hooks().add_pre_tool_use(lambda _e: HookDecision.deny("never"))
    client, model = by_hand(calls(call("look", {})), says("then not"), hooks=hooks)
    async with client:
        await client.send("go")
        assert await received(client) == [Text("then not")]
        assert client.last_run is not None
        assert (client.last_run.end, client.last_run.iterations) == ("completed", 2)
        with pytest.raises(ValueError, match="waiting: none"):
            client.add_tool_result("c1", "x")
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "tool"]


async def test_denials_alone_end_at_the_limit_of_iterations() -> None:
    hooks = Hooks().add_pre_tool_use(lambda _e: HookDecision.deny("never"))
    client, _ = by_hand(*[calls(call("look", {}))] * 3, hooks=hooks, max_tool_iterations=2)
    async with client:
        await client.send("go")
        assert await received(client) == []
        assert client.last_run is not None
        assert client.last_run.end == "limit"
        assert results(client.history[-1]) == [("c1", "not executed: limit", True)]


async def test_the_caller_gets_the_input_that_the_hooks_made() -> None:
    hooks = Hooks()
    hooks.add_pre_tool_use(lambda e: HookDecision.modify_input({**e.tool_input, "a": 40}))
    hooks.add_pre_tool_use(lambda e: HookDecision.modify_input({**e.tool_input, "b": 2}))
    client, _ = by_hand(calls(call("add", {"a": 1, "b": 1})), hooks=hooks)
    async with client:
        await client.send("go")
        assert await received(client) == [ToolUse("c1", "add", {"a": 40, "b": 2})]
        assert client.history[1].tool_uses == (ToolUse("c1", "add", {"a": 1, "b": 1}),)


async def test_hooks_hear_the_real_history_and_the_result_before_the_model_does() -> None:
    before: list[PreToolUseEvent] = []
    after: list[PostToolUseEvent] = []

    def hear(event: PreToolUseEvent) -> HookDecision:
        before.append(event)
        return HookDecision.add_context("it was checked")

    def redact(event: PostToolUseEvent) -> HookDecision:
        after.append(event)
        return HookDecision.modify_result(event.result.content.replace("secret", "***"))

    hooks = Hooks().add_pre_tool_use(hear).add_post_tool_use(redact)
    client, model = by_hand(calls(call("look", {"at": "it"})), says("seen"), hooks=hooks)
    async with client:
        await client.send("go")
        await received(client)
        client.add_tool_result("c1", "a secret", is_error=True)
        await client.send()
        await received(client)
    assert [message.role for message in before[0].history] == ["user", "assistant"]
    assert before[0].history == after[0].history
    assert (after[0].tool_name, after[0].tool_input, after[0].tool_use_id) == ("look", {"at": "it"}, "c1")
    assert after[0].result == ToolResult("c1", "a secret\n\nit was checked", is_error=True)
    assert results(model.requests[1].messages[-1]) == [("c1", "a ***\n\nit was checked", True)]


async def test_a_hook_that_breaks_after_the_call_withholds_the_result() -> None:
    def breaks(_event: PostToolUseEvent) -> None:
        raise RuntimeError("boom")

    client, model = by_hand(calls(call("look", {})), says("?"), hooks=Hooks().add_post_tool_use(breaks))
    async with client:
        await client.send("go")
        await received(client)
        client.add_tool_result("c1", "a secret")
        await client.send()
        await received(client)
    [(_, told, is_error)] = results(model.requests[1].messages[-1])
    assert is_error
    assert "boom" in told
    assert "secret" not in told


@pytest.mark.parametrize("point", ["before", "allowed", "after"])
@pytest.mark.parametrize("automatic", [False, True])
async def test_the_reason_of_a_stop_is_the_end_of_the_run(point: str, automatic: bool) -> None:
    hooks = Hooks()
    match point:
        case "before":
            hooks.add_pre_tool_use(lambda _e: HookDecision.deny("enough", stop=True))
        case "allowed":
            hooks.add_pre_tool_use(lambda _e: HookDecision("allow", "enough", stop=True))
        case _:
            hooks.add_post_tool_use(lambda _e: HookDecision("none", "enough", stop=True))
    look = Tool("look", "Look at something.", {"type": "object"}, lambda _input: "seen")
    client, model = by_hand(
        calls(call("look", {}, id="c1")),
        says("unreached"),
        hooks=hooks,
        tools=[look],
        auto_execute_tools=automatic,
    )
    async with client:
        await client.send("go")
        await received(client)
        if not automatic and point != "before":
            client.add_tool_result("c1", "seen")
            await client.send()
            await received(client)
        assert client.last_run is not None
        assert (client.last_run.end, client.last_run.reason) == ("interrupted", "enough")
        [(_, told, _)] = results(client.history[-1])
        assert told == ("Denied by a hook: enough" if point == "before" else "seen")
    assert len(model.requests) == 1


@pytest.mark.parametrize("automatic", [False, True])
@pytest.mark.parametrize(
    ("rules", "behavior", "ran"),
    [
        (PermissionRules(), "allow", True),
        (PermissionRules(), "none", False),
        (PermissionRules(), "ask", False),
        (PermissionRules(deny=["look"]), "allow", False),
        (PermissionRules(ask=["look"]), "allow", False),
        (PermissionRules(allow=["look"]), "none", True),
        (PermissionRules(allow=["look"]), "ask", False),
        (PermissionRules(allow=["look"]), "deny", False),
        (None, "none", True),
        (None, "ask", False),
    ],
)
async def test_a_hooks_allow_counts_beside_permissions_and_deny_and_ask_rules_beat_it(
    rules: PermissionRules | None,
    behavior: Literal["none", "allow", "ask", "deny"],
    ran: bool,
    automatic: bool,
) -> None:
    hooks = Hooks().add_pre_tool_use(lambda _e: HookDecision(behavior, "I say so"))
    look = Tool("look", "Look at something.", {"type": "object"}, lambda _input: "seen")
    client, _ = by_hand(
        calls(call("look", {}, id="c1")),
        says("ok"),
        hooks=hooks,
        permissions=rules,
        tools=[look],
        auto_execute_tools=automatic,
    )
    async with client:
        events = [event.body async for event in client.events("go")]
    (judged,) = (body for body in events if isinstance(body, ToolJudged))
    assert judged.allowed is ran
    if behavior == "allow" and ran:
        assert (judged.by, judged.reason) == ("hook", "I say so")
    if not ran and behavior == "none":
        assert "nobody is there to ask" in judged.reason


@pytest.mark.parametrize("point", ["before", "after"])
async def test_a_hook_that_stops_ends_the_run_before_the_model_is_asked_again(point: str) -> None:
    stop = HookDecision.deny("enough", stop=True)
    hooks = Hooks()
    if point == "before":
        hooks.add_pre_tool_use(lambda _e: stop, "look")
    else:
        hooks.add_post_tool_use(lambda _e: stop)
    client, model = by_hand(
        calls(call("look", {}, id="c1"), call("add", ONE_TWO, id="c2", place=1)),
        says("unreached"),
        hooks=hooks,
    )
    async with client:
        await client.send("go")
        handed = await received(client)
        if point == "after":
            client.add_tool_result("c1", "seen")
            client.add_tool_result("c2", "3")
            await client.send()
            assert await received(client) == []
        else:
            assert handed == []
        assert client.last_run is not None
        assert client.last_run.end == "interrupted"
        told = [content for _, content, _ in results(client.history[-1])]
    assert told == (["Denied by a hook: enough", CANCELLED] if point == "before" else ["enough", "enough"])
    assert len(model.requests) == 1


async def test_permissions_count_by_hand_too_and_say_how_to_allow_the_call() -> None:
    rules = PermissionRules(allow=["add"], deny=["look"])
    client, _ = by_hand(
        calls(
            call("look", {}, id="c1"),
            call("add", ONE_TWO, id="c2", place=1),
            call("add", {}, id="c3", place=2),
        ),
        permissions=rules,
    )
    async with client:
        events = [event.body async for event in client.events("go")]
    judged = [body for body in events if isinstance(body, ToolJudged)]
    assert [(body.allowed, body.by) for body in judged] == [(False, "rule"), (True, "rule"), (False, "loop")]
    proposed = [body.key for body in events if isinstance(body, ToolProposed)]
    assert [body.key for body in judged] == proposed
    assert [body.key for body in events if isinstance(body, ToolEnded)] == [proposed[0], proposed[2]]


async def test_calls_that_cannot_be_run_are_answered_in_words_for_the_model() -> None:
    broken: Answer = [ToolUseDelta(0, "c1", "add", '{"a": 1'), AnswerEnded("tool_use")]
    client, model = by_hand(broken, calls(call("ad", {})), calls(call("add", {"a": "x"})), says("sorry"))
    async with client:
        await client.send("go")
        assert await received(client) == [Text("sorry")]
    told = [results(model.requests[n].messages[-1])[0][1] for n in (1, 2, 3)]
    assert "could not be read" in told[0]
    assert "did you mean add" in told[1]
    assert "does not fit add" in told[2]


async def test_without_tools_the_caller_alone_knows_what_a_call_means() -> None:
    client, _ = by_hand(calls(call("anything", {"x": 1})), tools=())
    async with client:
        await client.send("go")
        assert await received(client) == [ToolUse("c1", "anything", {"x": 1})]


async def test_a_call_of_a_cut_answer_is_not_handed_over() -> None:
    client, _ = by_hand([call("add", ONE_TWO), AnswerEnded("length")])
    async with client:
        await client.send("go")
        assert await received(client) == []
        assert client.last_run is not None
        assert (client.last_run.end, client.last_run.stop_reason) == ("limit", "length")
        assert client.history[-1].role == "tool"


async def test_results_may_be_text_data_or_pictures() -> None:
    picture = Image.from_base64("QUJD", "image/png")
    wanted = [call("look", {}, id=f"c{n}", place=n) for n in range(3)]
    client, model = by_hand(calls(*wanted), says("ok"))
    async with client:
        await client.send("go")
        await received(client)
        client.add_tool_result("c2", ToolOutput("here", images=(picture,)))
        client.add_tool_result("c0", {"deep": [1, 2]})
        with pytest.raises(ToolError):
            client.add_tool_result("c1", {(1, 2): "no JSON has such keys"})
        client.add_tool_result("c1", "text")
        await client.send()
        await received(client)
    given = model.requests[1].messages[-1].tool_results
    assert [each.content for each in given] == ['{"deep": [1, 2]}', "text", "here"]
    assert given[2].images == (picture,)


async def test_a_new_prompt_goes_on_without_the_results_that_are_missing_and_says_so() -> None:
    client, model = by_hand(calls(call("look", {})), says("fine"))
    async with client:
        await client.send("go")
        await received(client)
        await client.send("never mind")
        assert await received(client) == [Text("fine")]
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "tool", "user"]
    assert results(model.requests[1].messages[2]) == [("c1", UNANSWERED, True)]


async def test_a_refused_prompt_loses_no_result() -> None:
    hooks = Hooks().add_user_prompt_submit(lambda e: HookDecision.deny("no") if e.prompt == "bad" else None)
    client, model = by_hand(calls(call("look", {})), says("ok"), hooks=hooks)
    async with client:
        await client.send("go")
        await received(client)
        client.add_tool_result("c1", "seen")
        with pytest.raises(Exception, match="no"):
            await client.send("bad")
        assert client.history[-1].role == "assistant"
        await client.send()
        await received(client)
    assert results(model.requests[1].messages[-1]) == [("c1", "seen", False)]


async def test_every_call_ends_once_over_the_runs_that_it_takes() -> None:
    client, _ = by_hand(calls(call("look", {})), says("ok"))
    async with client:
        bodies = [event.body async for event in client.events("go")]
        client.add_tool_result("c1", "seen")
        bodies += [event.body async for event in client.events()]
    kinds = [type(body) for body in bodies]
    assert kinds.count(ToolProposed) == kinds.count(ToolEnded) == 1
    assert [body.end for body in bodies if isinstance(body, RunEnded)] == ["completed", "completed"]


async def test_an_interrupt_while_a_hook_thinks_hands_nothing_over() -> None:
    asked, forever = asyncio.Event(), asyncio.Event()

    async def slow(_event: PreToolUseEvent) -> None:
        asked.set()
        await forever.wait()

    hooks = Hooks().add_pre_tool_use(slow, "add")
    client, _ = by_hand(
        calls(call("look", {}, id="c1"), call("add", ONE_TWO, id="c2", place=1)), says("on"), hooks=hooks
    )
    async with client, asyncio.timeout(10):
        await client.send("go")
        await asked.wait()
        assert client.interrupt()
        assert await received(client) == []
        assert results(client.history[-1]) == [("c1", CANCELLED, True), ("c2", CANCELLED, True)]
        await client.send()
        assert await received(client) == [Text("on")]
