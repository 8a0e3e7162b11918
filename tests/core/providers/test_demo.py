import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from agent_tui_core.blocks import Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.messages import Message, ModelRequest, ToolSpec
from agent_tui_core.providers.demo import DEMO_AGENTS, DEMO_BASE_URL, DemoTransport, copy_workspace
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from agent_tui_core.tools.base import ToolContext
from agent_tui_core.tools.registry import builtin_tools
from agent_tui_core.wire.accumulator import Accumulator

TOOLS = {tool.name: tool for tool in builtin_tools()}
SPECS = tuple(ToolSpec(name, "", {"type": "object"}) for name in TOOLS)
BY_NAME = {agent.name: agent for agent in DEMO_AGENTS}

Decide = Callable[[ToolUse], str | None]
"""What the person says to a call: None allows it, words are the result of a call that did not run."""


def allow(_call: ToolUse) -> None:
    return None


def refuse(tool: str, *answers: str) -> Decide:
    """Answer the calls of one tool with these words in turn; then, and for other tools, allow."""
    left = list(answers)

    def decide(call: ToolUse) -> str | None:
        return left.pop(0) if call.name == tool and left else None

    return decide


class Conversation:
    """Plays the loop for one demo agent: asks, runs the real tools in a real workspace, asks again."""

    def __init__(self, provider: OpenAIProvider, model: str, workspace: Path) -> None:
        self.provider = provider
        self.model = model
        self.context = ToolContext(workspace.resolve())
        self.messages: list[Message] = []
        self.calls: list[ToolUse] = []

    async def ask(self, tools: tuple[ToolSpec, ...] = SPECS) -> Message:
        answer = Accumulator()
        request = ModelRequest(self.model, self.messages, tools=tools)
        async with aclosing(self.provider.stream(request)) as events:
            async for event in events:
                answer.add(event)
        message = answer.message()
        assert message is not None
        return message

    async def run(self, prompt: str, decide: Decide = allow) -> str:
        """Everything the model says until it calls nothing any more."""
        self.messages.append(Message("user", (Text(prompt),)))
        said: list[str] = []
        for _ in range(12):
            message = await self.ask()
            self.messages.append(message)
            said.append(message.text)
            if not message.tool_uses:
                return "\n".join(said)
            results = [await self._result(call, decide) for call in message.tool_uses]
            self.messages.append(Message("tool", tuple(results)))
        raise AssertionError("the scenario does not end")

    async def _result(self, call: ToolUse, decide: Decide) -> ToolResult:
        assert call.broken is None
        self.calls.append(call)
        if (words := decide(call)) is not None:
            return ToolResult(call.id, words, is_error=True)
        output = await TOOLS[call.name].execute(call.input, self.context)
        return ToolResult(call.id, output.content, output.is_error)


@pytest.fixture
async def provider() -> AsyncIterator[OpenAIProvider]:
    async with http_client(transport=DemoTransport(pace=0)) as client:
        yield OpenAIProvider(client, DEMO_BASE_URL)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    copy_workspace(tmp_path)
    return tmp_path


async def play(
    provider: OpenAIProvider, workspace: Path, name: str, decide: Decide = allow
) -> tuple[str, Conversation]:
    agent = BY_NAME[name]
    talk = Conversation(provider, agent.model, workspace)
    return await talk.run(agent.prompt, decide), talk


def run_tests(workspace: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "-v"],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def test_the_sample_workspace_has_one_real_bug(workspace: Path) -> None:
    said = run_tests(workspace)
    assert "FAILED (failures=1)" in said
    assert "FAIL: test_ten_pieces_are_bulk" in said


def test_copying_the_workspace_keeps_what_is_there(workspace: Path) -> None:
    (workspace / "NOTES.md").write_text("mine")
    copy_workspace(workspace)
    assert (workspace / "NOTES.md").read_text() == "mine"


def test_four_agents_have_four_jobs() -> None:
    assert len({agent.name for agent in DEMO_AGENTS}) == 4
    assert len({agent.model for agent in DEMO_AGENTS}) == 4
    assert all(agent.prompt and agent.system_prompt for agent in DEMO_AGENTS)


@pytest.mark.parametrize("name", sorted(BY_NAME))
async def test_every_scenario_says_first_that_it_is_a_script(
    provider: OpenAIProvider, workspace: Path, name: str
) -> None:
    said, talk = await play(provider, workspace, name)
    assert "Scripted demo" in said.splitlines()[0]
    assert not re.search(r"\{\w+\}", re.sub(r"```.*?```", "", said, flags=re.DOTALL))
    assert talk.calls


async def test_the_reviewer_reads_and_then_reviews(provider: OpenAIProvider, workspace: Path) -> None:
    said, talk = await play(provider, workspace, "reviewer")
    assert {call.name for call in talk.calls} >= {"Glob", "Read"}
    assert "| # | Where |" in said
    assert "```python" in said


async def test_the_fixer_really_fixes_the_bug(provider: OpenAIProvider, workspace: Path) -> None:
    said, talk = await play(provider, workspace, "fixer")
    assert "**Fixed.**" in said
    assert [call.name for call in talk.calls] == ["Read", "Edit", "Grep"]
    assert run_tests(workspace).rstrip().endswith("OK")


async def test_the_fixer_changes_nothing_when_denied(provider: OpenAIProvider, workspace: Path) -> None:
    said, _talk = await play(provider, workspace, "fixer", refuse("Edit", "Denied by the user"))
    assert "I changed **nothing**" in said
    assert "FAILED" in run_tests(workspace)


async def test_the_fixer_quotes_the_reason_and_proposes_another_edit(
    provider: OpenAIProvider, workspace: Path
) -> None:
    decide = refuse("Edit", "Denied by the user: give the rule a *name*, please")
    said, talk = await play(provider, workspace, "fixer", decide)
    first, second = [call for call in talk.calls if call.name == "Edit"]
    assert "“give the rule a name, please”" in said
    assert first.input != second.input
    assert "Fixed, the other way" in said
    assert run_tests(workspace).rstrip().endswith("OK")


async def test_the_fixer_stops_after_two_reasons(provider: OpenAIProvider, workspace: Path) -> None:
    decide = refuse("Edit", "Denied by the user: no", "Denied by the user: still no")
    said, talk = await play(provider, workspace, "fixer", decide)
    assert "“still no”" in said
    assert sum(call.name == "Edit" for call in talk.calls) == 2


async def test_the_fixer_notices_that_somebody_was_faster(provider: OpenAIProvider, workspace: Path) -> None:
    await play(provider, workspace, "fixer")
    agent = BY_NAME["fixer"]
    refused = refuse("Edit", "old_string is not in pantry/pricing.py.")
    said = await Conversation(provider, agent.model, workspace).run(agent.prompt, refused)
    assert "The edit was not made" in said
    assert "old_string is not in pantry/pricing.py." in said


async def test_the_tester_reports_what_the_run_really_said(provider: OpenAIProvider, workspace: Path) -> None:
    said, _talk = await play(provider, workspace, "tester")
    assert "The suite is **red**: 9 tests ran, failures=1." in said
    assert "| test_ten_pieces_are_bulk | 2000 != 1800 |" in said
    await play(provider, workspace, "fixer")
    said, _talk = await play(provider, workspace, "tester")
    assert "The suite is **green**: 9 tests ran in" in said


async def test_the_tester_only_reads_when_denied(provider: OpenAIProvider, workspace: Path) -> None:
    said, talk = await play(provider, workspace, "tester", refuse("Bash", "Denied by the user"))
    assert [call.name for call in talk.calls] == ["Bash", "Read"]
    assert "I have **not** seen a run" in said


async def test_the_tester_asks_for_less_when_denied_with_a_reason(
    provider: OpenAIProvider, workspace: Path
) -> None:
    decide = refuse("Bash", "Denied by the user: too much at once")
    said, talk = await play(provider, workspace, "tester", decide)
    assert "“too much at once”" in said
    assert talk.calls[1].input["command"] == "python3 -m unittest -v tests.test_pricing"
    assert "6 tests ran, failures=1" in said


async def test_the_tester_calls_a_broken_command_neither_green_nor_red(
    provider: OpenAIProvider, workspace: Path
) -> None:
    said, _talk = await play(provider, workspace, "tester", refuse("Bash", "python3: not found"))
    assert "“python3: not found”" in said
    assert "won't call that green" in said


async def test_the_writer_thinks_writes_long_and_leaves_a_file(
    provider: OpenAIProvider, workspace: Path
) -> None:
    said, talk = await play(provider, workspace, "writer")
    assert any(isinstance(block, Reasoning) for block in talk.messages[1].blocks)
    assert len(said) > 1500
    assert "`CHANGELOG.md` is written" in said
    assert "# Changelog" in (workspace / "CHANGELOG.md").read_text()


async def test_the_writer_reacts_to_a_deny_and_to_a_reason(provider: OpenAIProvider, workspace: Path) -> None:
    said, _talk = await play(provider, workspace, "writer", refuse("Write", "Denied by the user"))
    assert "there is no `CHANGELOG.md`" in said
    decide = refuse("Write", "Denied by the user: no new files")
    said, _talk = await play(provider, workspace, "writer", decide)
    assert "“no new files”" in said
    assert "A changelog was proposed" in (workspace / "NOTES.md").read_text()
    assert not (workspace / "CHANGELOG.md").exists()


@pytest.mark.parametrize(
    ("prompt", "tool"),
    [
        ("hello there", None),
        ("how do I connect a real model?", None),
        ("please run something", "Bash"),
        ("edit a file", "Write"),
        ("read me something", "Read"),
        ("which files are here", "Glob"),
    ],
)
async def test_a_free_prompt_gets_a_sensible_answer(
    provider: OpenAIProvider, workspace: Path, prompt: str, tool: str | None
) -> None:
    talk = Conversation(provider, "demo/reviewer", workspace)
    said = await talk.run(prompt)
    assert said.startswith("I am the demo model: ")
    assert f"“{prompt}”" in said
    assert [call.name for call in talk.calls] == ([tool] if tool else [])
    assert tool is not None or ("OPENAI_BASE_URL" in said and "Ollama" in said)


async def test_a_free_prompt_after_a_deny_with_a_reason_gets_it_back(
    provider: OpenAIProvider, workspace: Path
) -> None:
    talk = Conversation(provider, "demo/unheard-of", workspace)
    assert "“not here”" in await talk.run("run it", refuse("Bash", "Denied by the user: not here"))


async def test_a_tool_that_the_agent_does_not_have_is_not_called(
    provider: OpenAIProvider, workspace: Path
) -> None:
    talk = Conversation(provider, "demo/tester", workspace)
    talk.messages.append(Message("user", (Text(BY_NAME["tester"].prompt),)))
    message = await talk.ask(tools=())
    assert not message.tool_uses
    assert "the tool Bash" in message.text


async def test_a_scenario_that_was_cut_off_goes_on_where_it_was(
    provider: OpenAIProvider, workspace: Path
) -> None:
    agent = BY_NAME["fixer"]
    talk = Conversation(provider, agent.model, workspace)
    talk.messages.append(Message("user", (Text(agent.prompt),)))
    first = await talk.ask()
    talk.messages += [first, Message("tool", (ToolResult(first.tool_uses[0].id, "…"),))]
    talk.messages.append(Message("assistant", (Text("There it is. The READ"),), "interrupted"))
    assert (await talk.run("hello")).startswith("I am the demo model")
    said = await talk.run("continue")
    assert said.startswith("There it is.")
    assert "**Fixed.**" in said


async def test_a_call_that_was_cancelled_is_made_again(provider: OpenAIProvider, workspace: Path) -> None:
    agent = BY_NAME["tester"]
    talk = Conversation(provider, agent.model, workspace)
    talk.messages.append(Message("user", (Text(agent.prompt),)))
    first = await talk.ask()
    cancelled = ToolResult(first.tool_uses[0].id, "cancelled by the user", is_error=True)
    talk.messages += [first, Message("tool", (cancelled,))]
    assert "The suite is **red**" in await talk.run("go on")


async def test_a_scenario_can_start_over_and_ends(provider: OpenAIProvider, workspace: Path) -> None:
    _said, talk = await play(provider, workspace, "tester")
    assert "my scene is over" in await talk.run("continue")
    assert "Scripted demo" in await talk.run("start over")
