from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_tui_core import AgentOptions, Client, Text, Tool, ToolUse, demo_provider, query

SCALE = Tool(
    "scale",
    "Scale a thing.",
    {
        "type": "object",
        "properties": {
            "thing": {"type": "string"},
            "factor": {"type": "integer"},
            "loud": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["thing", "factor", "loud"],
    },
    lambda given: f"scaled {given['thing']} by {given['factor']}",
)
NOW = Tool("now", "Tell the time.", {"type": "object", "properties": {}}, lambda _given: "noon")


def options(*tools: Tool, auto: bool = False) -> AgentOptions:
    return AgentOptions(
        model="demo/helper", provider=demo_provider(pace=0), tools=tools, auto_execute_tools=auto
    )


async def answered(client: Client, prompt: str) -> list[object]:
    await client.send(prompt)
    blocks: list[object] = []
    async with asyncio.timeout(10):
        while (block := await client.receive()) is not None:
            blocks.append(block)
    return blocks


async def test_a_prompt_that_names_a_tool_makes_the_demo_model_call_it() -> None:
    async with Client(options(SCALE)) as client:
        blocks = await answered(client, 'Please scale "the sofa" by 3.')
        [call] = [block for block in blocks if isinstance(block, ToolUse)]
    assert (call.name, call.input) == ("scale", {"thing": "the sofa", "factor": 3, "loud": True})


async def test_several_tools_are_called_together_and_their_results_are_told() -> None:
    async with Client(options(SCALE, NOW, auto=True)) as client:
        blocks = await answered(client, "scale 2, and then now")
        text = "".join(block.text for block in blocks if isinstance(block, Text))
    assert [block.name for block in blocks if isinstance(block, ToolUse)] == ["scale", "now"]
    assert "the tool really ran, and its result begins with “scaled scale 2, and then now by 2 noon”" in text


@pytest.mark.parametrize("prompt", ["Hello.", "upscale 3", "scaled"])
async def test_a_prompt_that_names_none_is_answered_as_ever(prompt: str, tmp_path: Path) -> None:
    async with Client(options(SCALE)) as client:
        assert not [block for block in await answered(client, prompt) if isinstance(block, ToolUse)]


async def test_two_clients_share_the_demo_and_it_needs_no_closing() -> None:
    shared = options()
    for _ in range(2):
        text = "".join([piece.text async for piece in query("Hello.", shared) if isinstance(piece, Text)])
        assert text.startswith("I am the demo model")
