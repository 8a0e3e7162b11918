"""Keep a conversation short: forget old prompts yourself, or let the client summarise them near a limit."""

import asyncio
from dataclasses import replace

from agent_tui_core import AgentOptions, Client
from agent_tui_core.events import Compacted, TextDelta


async def ask(client: Client, prompt: str) -> None:
    async for event in client.events(prompt):
        match event.body:
            case TextDelta(text):
                print(text, end="", flush=True)
            case Compacted(tokens_before=before, tokens_after=after):
                print(f"(summarised: {before} -> {after} tokens)")
    print()


async def main() -> None:
    options = AgentOptions.from_environment()
    async with Client(options) as client:
        for number in range(4):
            await ask(client, f"Remember the number {number}.")
        forgotten = client.keep_prompts(2)
        print(f"(forgotten: {forgotten} messages, kept: {len(client.history)})")
        kept = client.history

    async with Client(replace(options, context_limit=400)) as another:
        another.load_history(kept)
        await ask(another, "Which numbers do you remember?")
        print(f"(history is whole: {len(another.history)} messages)")


asyncio.run(main())
