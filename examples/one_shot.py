"""Ask once and print the answer as it arrives: `python examples/one_shot.py "a question"`."""

import asyncio
import sys
from contextlib import aclosing

from agent_tui_core import AgentOptions, Text, query


async def main() -> None:
    prompt = " ".join(sys.argv[1:]) or "In one sentence: who are you?"
    async with aclosing(query(prompt, AgentOptions.from_environment())) as pieces:
        async for piece in pieces:
            if isinstance(piece, Text):
                print(piece.text, end="", flush=True)
    print()


asyncio.run(main())
