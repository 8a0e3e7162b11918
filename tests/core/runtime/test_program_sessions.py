"""Owns the proof that a program opens a session with its own parts: tools, provider and keys."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core import (
    AgentOptions,
    AllowOnce,
    AsyncToolRegistry,
    ConfigError,
    Policy,
    Session,
    Tool,
    ToolContext,
    ToolOutput,
    Worker,
    open_session,
    read_policy,
    session_plan,
    tool,
)
from agent_tui_core.config.profiles import Plan
from agent_tui_core.messages import Message
from loopback import DONE, Answer, LoopbackServer, finish, say, sse, tool_call
from scripted import Scripted, call, calls, says
from sessions import settled, waiting

KEY = "sk-by-value-0123456789"


@tool(writes=False)
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def planned(folder: Path, **more: Any) -> Plan:
    more.setdefault("environ", {"AGENT_TUI_CONFIG_DIR": str(folder / "config")})
    return session_plan(workspace=folder, data_dir=folder / "data", **more)


def messages(worker: Worker) -> tuple[Message, ...]:
    return worker.conversation.messages


async def asked(session: Session, *prompts: str) -> Worker:
    worker = session.workers[0]
    for prompt in prompts:
        worker.prompt(prompt)
        await settled(session)
    return worker


async def test_a_python_tool_is_offered_and_runs_where_a_rule_allows_it(tmp_path: Path) -> None:
    model = Scripted([calls(call("add", {"a": 17, "b": 25})), says("It is 42.")])
    plan = planned(tmp_path, model="m", tools=["add"], system_prompt="Count.")
    async with open_session(plan, provider=model, tools=[add], policy=Policy(allow=("add",))) as session:
        worker = await asked(session, "17 + 25?")
        assert [m.text for m in messages(worker)][-1] == "It is 42."
        assert messages(worker)[2].tool_results[0].content == "42.0"
    assert [spec.name for spec in model.requests[0].tools] == ["add"]
    assert model.requests[0].system_prompt.startswith("Count.")
    assert model.requests[0].model == "m"


async def test_without_a_rule_a_python_tool_is_asked_about_as_any_other(tmp_path: Path) -> None:
    model = Scripted([calls(call("add", {"a": 1, "b": 2})), says("ok")] * 2)
    async with open_session(planned(tmp_path), provider=model, tools=[add]) as session:
        worker = session.workers[0]
        worker.prompt("go")
        await waiting(session)
        assert (session.desk.pending[0].tool, session.desk.pending[0].input) == ("add", {"a": 1, "b": 2})
        session.desk.answer(session.desk.pending[0].id, AllowOnce())
        await settled(session)
        assert messages(worker)[2].tool_results[0].content == "3.0"
        assert {"add", "Bash", "Read"} <= {spec.name for spec in model.requests[0].tools}


async def test_a_python_tool_that_no_policy_covers_is_denied_and_the_model_told(tmp_path: Path) -> None:
    model = Scripted([calls(call("add", {"a": 1, "b": 2})), says("ok")])
    async with open_session(planned(tmp_path), provider=model, tools=[add], policy=Policy()) as session:
        worker = await asked(session, "go")
        (result,) = messages(worker)[2].tool_results
    assert result.is_error
    assert "nobody is there to ask" in result.content


def test_a_policy_in_words_may_name_a_programs_own_tools() -> None:
    assert read_policy(["deny", "add"], tools=["add"]).allow == ("add",)
    with pytest.raises(ConfigError, match="no tool 'add'"):
        read_policy(["add"])


async def test_a_tool_whose_result_comes_from_outside_works_in_a_session(tmp_path: Path) -> None:
    registry = AsyncToolRegistry()
    started = asyncio.Event()

    async def weigh(_input: dict[str, Any], context: ToolContext) -> ToolOutput:
        started.set()
        return await registry.wait(context)

    scales = Tool("weigh", "Weigh.", {"type": "object"}, weigh, takes_context=True)
    model = Scripted([calls(call("weigh", {})), says("ok")])
    policy = Policy(allow=("weigh",))
    async with open_session(planned(tmp_path), provider=model, tools=[scales], policy=policy) as session:
        worker = session.workers[0]
        worker.prompt("go")
        async with asyncio.timeout(10):
            await started.wait()
        assert registry.pending_of(worker.id) == registry.pending
        assert registry.progress(registry.pending[0], "on the scales")
        assert registry.complete(registry.pending[0], {"kg": 3})
        await settled(session)
        assert messages(worker)[2].tool_results[0].content == '{"kg": 3}'


@pytest.mark.parametrize("name", ["Bash", "mcp__x__y", "twice"])
async def test_a_tool_with_the_name_of_another_is_refused_before_anything_is_made(
    tmp_path: Path, name: str
) -> None:
    one = Tool(name, "x", {"type": "object"}, lambda _input: "x")
    given = [one, one] if name == "twice" else [one]
    with pytest.raises(ConfigError, match=name):
        async with open_session(planned(tmp_path), provider=Scripted(), tools=given):
            pass
    assert not (tmp_path / "data").exists()


async def test_a_provider_that_was_given_answers_all_agents_and_stays_open(tmp_path: Path) -> None:
    model = Scripted([says("one"), says("two"), says("three")])
    plan = planned(tmp_path, agents=["ann", "bob"])
    async with open_session(plan, provider=model) as session:
        assert [(worker.name, worker.model) for worker in session.workers] == [
            ("ann", "scripted"),
            ("bob", "scripted"),
        ]
        session.start("hi")
        await settled(session)
        kept = session.id
    async with open_session(plan, provider=model, resume=kept) as session:
        await asked(session, "and?")
        assert [m.text for m in messages(session.workers[0])][-2:] == ["and?", "three"]
    assert [request.model for request in model.requests] == ["scripted"] * 3


async def test_an_agent_whose_program_is_gone_says_so_when_it_is_resumed(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    async with open_session(plan, provider=Scripted([says("one")])) as session:
        await asked(session, "hi")
    async with open_session(plan, resume="") as session:
        worker = await asked(session, "and?")
        assert (worker.state, len(messages(worker))) == ("failed", 2)
        assert worker.provider == "program"


@pytest.mark.parametrize("protocol", ["chat", "anthropic"])
async def test_a_key_by_value_reaches_its_server_and_nothing_else(tmp_path: Path, protocol: Any) -> None:
    stop = sse({"type": "message_stop"})
    spoken = [
        sse({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}),
        sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
        sse({"type": "content_block_stop", "index": 0}),
        sse({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        stop,
    ]
    answer = say("hi") if protocol == "chat" else Answer(*spoken)
    async with LoopbackServer([answer]) as server:
        plan = planned(
            tmp_path, model="m", base_url=server.base_url, api_key=KEY, protocol=protocol, tools=[]
        )
        async with open_session(plan, policy=Policy()) as session:
            worker = await asked(session, "hi")
            assert [m.text for m in messages(worker)] == ["hi", "hi"]
            shown = f"{plan} {session.plan!r} {AgentOptions(model='m', api_key=KEY)!r}"
        headers = server.requests[0].headers
    sent = headers["authorization"] if protocol == "chat" else headers["x-api-key"]
    assert sent in {KEY, f"Bearer {KEY}"}
    assert KEY not in shown
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert KEY.encode() not in kept
    assert b"hi" in kept


@pytest.mark.parametrize("key", ["sk-\n1", "sk-„quoted”"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigError, match="api_key") as refused:
        planned(tmp_path, base_url="http://127.0.0.1:9/v1", api_key=key)
    assert key not in str(refused.value)


def test_a_plan_reads_no_settings_file_unless_one_is_named(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.toml").write_text('[agents.default]\nsystem_prompt = "From the file."\n')
    plan = planned(tmp_path, base_url="http://127.0.0.1:9/v1", model="m")
    assert plan.agents[0].system_prompt != "From the file."
    read = planned(tmp_path, base_url="http://127.0.0.1:9/v1", model="m", settings=config / "config.toml")
    assert read.agents[0].system_prompt == "From the file."


async def test_a_call_of_a_python_tool_that_breaks_is_told_to_the_model(tmp_path: Path) -> None:
    def broken(_input: dict[str, Any]) -> str:
        raise RuntimeError("the scales are broken")

    scales = Tool("weigh", "Weigh.", {"type": "object"}, broken)
    bad = Answer(tool_call("c1", "weigh", {}), finish("tool_calls"), DONE)
    async with LoopbackServer([bad, say("Oh.")]) as server:
        plan = planned(tmp_path, model="m", base_url=server.base_url)
        async with open_session(plan, tools=[scales], policy=Policy(allow=("weigh",))) as session:
            worker = await asked(session, "go")
            (result,) = messages(worker)[2].tool_results
            assert (result.is_error, worker.state) == (True, "idle")
    assert "the scales are broken" in result.content
