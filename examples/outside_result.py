"""A tool whose result somebody else delivers: the call sleeps, another thread completes it by its key."""

import asyncio
import queue
import threading
from dataclasses import replace

from agent_tui_core import AgentOptions, AsyncToolRegistry, Client, Text, ToolContext, ToolOutput, tool

registry = AsyncToolRegistry()
orders: queue.Queue[tuple[str, str] | None] = queue.Queue()


@tool
async def weigh(parcel: str, context: ToolContext) -> ToolOutput:
    """Put a parcel on the scales and tell its weight."""
    registry.register(context)  # before it is handed over: the answer may come at once
    orders.put((context.call_key, parcel))
    return await registry.wait(context, timeout=30)


def scales() -> None:
    """What stands elsewhere: a queue, a webhook, a person with a button."""
    while (order := orders.get()) is not None:
        key, parcel = order
        registry.complete(key, {"parcel": parcel, "kg": 3.2})


async def main() -> None:
    thread = threading.Thread(target=scales)
    thread.start()
    options = replace(AgentOptions.from_environment(), tools=[weigh], auto_execute_tools=True)
    try:
        async with Client(options) as client:
            await client.send('Use the tool weigh for the parcel "A7".')
            while (block := await client.receive()) is not None:
                if isinstance(block, Text):
                    print(block.text, end="", flush=True)
        print(f"\n(still open: {len(registry.pending)})")
    finally:
        orders.put(None)
        thread.join()


asyncio.run(main())
