"""Run the tools yourself: a whole `ToolUse` comes out, its result goes in, `send()` goes on."""

import asyncio
from dataclasses import replace
from pathlib import Path

from agent_tui_core import AgentOptions, Client, Text, ToolContext, ToolUse, tool


@tool
def add(a: float, b: float) -> float:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


async def main() -> None:
    options = replace(AgentOptions.from_environment(), tools=[add])
    async with Client(options) as client:
        await client.send("What is 17 + 25? Use the tool add.")
        while True:
            calls = []
            while (block := await client.receive()) is not None:
                match block:
                    case Text(text):
                        print(text, end="", flush=True)
                    case ToolUse():
                        calls.append(block)
            print()
            if not calls:
                break
            for call in calls:
                print(f"-> {call.name} {dict(call.input)}")
                output = await add.execute(call.input, ToolContext(Path.cwd()))
                client.add_tool_result(call.id, output)
            await client.send()


asyncio.run(main())
