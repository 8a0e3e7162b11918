"""Let tools run by themselves, and stand beside them with hooks: one denies, one rewrites, one redacts."""

import asyncio
from dataclasses import replace

from agent_tui_core import (
    AgentOptions,
    Client,
    HookDecision,
    Hooks,
    PostToolUseEvent,
    PreToolUseEvent,
    tool,
)
from agent_tui_core.events import TextDelta, ToolEnded, ToolJudged


@tool(writes=False)
async def weather(city: str) -> dict[str, object]:
    """Tell the weather of a city."""
    return {"city": city, "degrees": 21, "station_key": "k-123"}


def no_atlantis(event: PreToolUseEvent) -> HookDecision | None:
    if event.tool_input["city"] == "Atlantis":
        return HookDecision.deny("Atlantis has sunk: ask for another city")
    return None


def tidy(event: PreToolUseEvent) -> HookDecision:
    return HookDecision.modify_input({"city": str(event.tool_input["city"]).title()})


def redact(event: PostToolUseEvent) -> HookDecision:
    return HookDecision.modify_result(event.result.content.replace("k-123", "***"))


hooks = Hooks().add_pre_tool_use(no_atlantis).add_pre_tool_use(tidy).add_post_tool_use(redact, "weather")


async def main() -> None:
    options = replace(AgentOptions.from_environment(), tools=[weather], hooks=hooks, auto_execute_tools=True)
    async with Client(options) as client:
        for city in ("lisbon", "Atlantis"):
            async for event in client.events(f'Use the tool weather for "{city}".'):
                match event.body:
                    case TextDelta(text):
                        print(text, end="", flush=True)
                    case ToolJudged(allowed=False, reason=reason):
                        print(f"\n-> denied: {reason}")
                    case ToolEnded(result=result, outcome="ok"):
                        print(f"\n-> {result.content}")
            print()


asyncio.run(main())
