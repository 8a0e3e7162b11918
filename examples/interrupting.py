"""Stop an answer from another thread, keep what came, and go on at once."""

import asyncio
import threading

from agent_tui_core import AgentOptions, Client, Text


async def main() -> None:
    async with Client(AgentOptions.from_environment()) as client:
        await client.send("Count slowly from 1 to 1000.")
        enough = threading.Event()
        threading.Thread(target=lambda: enough.wait() and client.interrupt()).start()
        while (block := await client.receive()) is not None:
            if isinstance(block, Text):
                print(block.text, end="", flush=True)
                enough.set()
        enough.set()
        assert client.last_run is not None
        print(f"\n({client.last_run.end}; kept: {len(client.history[-1].text)} characters)")
        await client.send("In one word: did you stop?")
        while (block := await client.receive()) is not None:
            if isinstance(block, Text):
                print(block.text, end="", flush=True)
        print()


asyncio.run(main())
