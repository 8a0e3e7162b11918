"""Talk with a model, line by line, until the end of input (ctrl+d); ctrl+c stops an answer."""

import asyncio
import signal
import sys

from agent_tui_core import AgentOptions, Client, Reasoning, Text
from agent_tui_core.errors import AgentTuiError


async def answer(client: Client, prompt: str) -> None:
    await client.send(prompt)
    while (block := await client.receive()) is not None:
        match block:
            case Text(text):
                print(text, end="", flush=True)
            case Reasoning(text):
                print(f"\x1b[2m{text}\x1b[0m", end="", flush=True)
    print()


async def main() -> None:
    async with Client(AgentOptions.from_environment()) as client:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, client.interrupt)
        while True:
            print("> ", end="", flush=True)
            line = await asyncio.to_thread(sys.stdin.readline)
            if not line:
                break
            if line.strip():
                try:
                    await answer(client, line)
                except AgentTuiError as error:
                    print(f"({error})")
        print(f"\n({len(client.history)} messages)")


asyncio.run(main())
