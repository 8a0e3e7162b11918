"""agent-tui's engine as a library: stream, run tools, hook, interrupt, remember — without a terminal.

Names are imported when they are first used, so that `from agent_tui_core import Text` costs no HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tui_core.agent.client import AgentOptions, Client, LastRun, query
    from agent_tui_core.agent.permissions import Judgement, PermissionRules
    from agent_tui_core.blocks import ContentBlock, Image, Reasoning, Text, ToolResult, ToolUse
    from agent_tui_core.history.store import History
    from agent_tui_core.hooks.chain import Hooks
    from agent_tui_core.hooks.points import (
        HookDecision,
        PostToolUseEvent,
        PreToolUseEvent,
        UserPromptSubmitEvent,
    )
    from agent_tui_core.messages import Message, Usage
    from agent_tui_core.providers.demo import demo_provider
    from agent_tui_core.runtime.session import Session, open_session
    from agent_tui_core.text import safe_text, visible_text
    from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
    from agent_tui_core.tools.deferred import AsyncToolRegistry
    from agent_tui_core.tools.registry import tool

_HOMES = {
    "agent.client": ("AgentOptions", "Client", "LastRun", "query"),
    "agent.permissions": ("Judgement", "PermissionRules"),
    "blocks": ("ContentBlock", "Image", "Reasoning", "Text", "ToolResult", "ToolUse"),
    "history.store": ("History",),
    "hooks.chain": ("Hooks",),
    "hooks.points": ("HookDecision", "PostToolUseEvent", "PreToolUseEvent", "UserPromptSubmitEvent"),
    "messages": ("Message", "Usage"),
    "providers.demo": ("demo_provider",),
    "runtime.session": ("Session", "open_session"),
    "text": ("safe_text", "visible_text"),
    "tools.base": ("Tool", "ToolContext", "ToolOutput"),
    "tools.deferred": ("AsyncToolRegistry",),
    "tools.registry": ("tool",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "AgentOptions",
    "AsyncToolRegistry",
    "Client",
    "ContentBlock",
    "History",
    "HookDecision",
    "Hooks",
    "Image",
    "Judgement",
    "LastRun",
    "Message",
    "PermissionRules",
    "PostToolUseEvent",
    "PreToolUseEvent",
    "Reasoning",
    "Session",
    "Text",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "ToolResult",
    "ToolUse",
    "Usage",
    "UserPromptSubmitEvent",
    "demo_provider",
    "open_session",
    "query",
    "safe_text",
    "tool",
    "visible_text",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
