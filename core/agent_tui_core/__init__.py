"""agent-tui's engine as a library: stream, run tools, hook, interrupt, remember — without a terminal.

`docs/library.md` shows what it does. Names are imported when they are first used, so that
`from agent_tui_core import Text` costs no HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tui_core.agent.approvals import AllowAlways, AllowEdited, AllowOnce, DenyCall
    from agent_tui_core.agent.client import AgentOptions, Client, LastRun, Prompt, query
    from agent_tui_core.agent.context import estimate_tokens
    from agent_tui_core.agent.conversation import ConversationSnapshot
    from agent_tui_core.agent.permissions import Judgement, PermissionRules
    from agent_tui_core.agent.policy import Policy, read_policy
    from agent_tui_core.blocks import ContentBlock, Image, Reasoning, Text, ToolResult, ToolUse
    from agent_tui_core.config.load import load_settings
    from agent_tui_core.config.profiles import AgentProfile, Flags, Plan, plan
    from agent_tui_core.config.scripting import session_plan
    from agent_tui_core.errors import (
        AgentTuiError,
        ConfigError,
        HistoryError,
        PromptBlocked,
        ProviderError,
        ToolError,
    )
    from agent_tui_core.event_json import event_to_json
    from agent_tui_core.events import (
        AnswerEnded,
        ApprovalRequest,
        ApprovalRequested,
        ApprovalSettled,
        Compacted,
        CompactionStarted,
        CompactionUndone,
        Event,
        EventsMissed,
        MessageCommitted,
        Noticed,
        PromptReturned,
        QueueChanged,
        ReasoningDelta,
        RequestRetrying,
        RequestStarted,
        RunEnded,
        RunStarted,
        StateChanged,
        StreamEvent,
        TextDelta,
        ToolEnded,
        ToolJudged,
        ToolProgressed,
        ToolProposed,
        ToolSpawned,
        ToolStarted,
        ToolUseDelta,
        UsageReported,
        WorkerClosed,
        WorkerFailed,
    )
    from agent_tui_core.history.message_json import message_from_json, message_to_json
    from agent_tui_core.history.store import History
    from agent_tui_core.hooks.chain import Hooks
    from agent_tui_core.hooks.points import (
        HookDecision,
        PostToolUseEvent,
        PreToolUseEvent,
        UserPromptSubmitEvent,
    )
    from agent_tui_core.messages import Message, ModelRequest, QueuedPrompt, ToolSpec, Usage
    from agent_tui_core.providers.base import ModelProvider
    from agent_tui_core.providers.demo import demo_provider
    from agent_tui_core.runtime.outbox import Subscription
    from agent_tui_core.runtime.prompt_run import PromptRun
    from agent_tui_core.runtime.session import Session, open_session
    from agent_tui_core.runtime.transcript import Transcript
    from agent_tui_core.runtime.worker import Worker
    from agent_tui_core.text import safe_line, safe_text, visible_text
    from agent_tui_core.tools.base import Tool, ToolContext, ToolOutput
    from agent_tui_core.tools.deferred import AsyncToolRegistry
    from agent_tui_core.tools.registry import tool

_HOMES = {
    "agent.conversation": ("ConversationSnapshot",),
    "agent.approvals": (
        "AllowAlways",
        "AllowEdited",
        "AllowOnce",
        "DenyCall",
    ),
    "agent.client": (
        "AgentOptions",
        "Client",
        "LastRun",
        "Prompt",
        "query",
    ),
    "agent.context": ("estimate_tokens",),
    "agent.permissions": (
        "Judgement",
        "PermissionRules",
    ),
    "agent.policy": (
        "Policy",
        "read_policy",
    ),
    "blocks": (
        "ContentBlock",
        "Image",
        "Reasoning",
        "Text",
        "ToolResult",
        "ToolUse",
    ),
    "config.load": ("load_settings",),
    "config.profiles": (
        "AgentProfile",
        "Flags",
        "Plan",
        "plan",
    ),
    "config.scripting": ("session_plan",),
    "errors": (
        "AgentTuiError",
        "ConfigError",
        "HistoryError",
        "PromptBlocked",
        "ProviderError",
        "ToolError",
    ),
    "events": (
        "EventsMissed",
        "AnswerEnded",
        "ApprovalRequest",
        "ApprovalRequested",
        "ApprovalSettled",
        "Compacted",
        "CompactionStarted",
        "CompactionUndone",
        "Event",
        "MessageCommitted",
        "Noticed",
        "PromptReturned",
        "QueueChanged",
        "ReasoningDelta",
        "RequestRetrying",
        "RequestStarted",
        "RunEnded",
        "RunStarted",
        "StateChanged",
        "StreamEvent",
        "TextDelta",
        "ToolEnded",
        "ToolJudged",
        "ToolProgressed",
        "ToolProposed",
        "ToolSpawned",
        "ToolStarted",
        "ToolUseDelta",
        "UsageReported",
        "WorkerClosed",
        "WorkerFailed",
    ),
    "event_json": ("event_to_json",),
    "history.message_json": (
        "message_from_json",
        "message_to_json",
    ),
    "history.store": ("History",),
    "hooks.chain": ("Hooks",),
    "hooks.points": (
        "HookDecision",
        "PostToolUseEvent",
        "PreToolUseEvent",
        "UserPromptSubmitEvent",
    ),
    "messages": (
        "QueuedPrompt",
        "Message",
        "ModelRequest",
        "ToolSpec",
        "Usage",
    ),
    "providers.base": ("ModelProvider",),
    "providers.demo": ("demo_provider",),
    "runtime.outbox": ("Subscription",),
    "runtime.prompt_run": ("PromptRun",),
    "runtime.session": (
        "Session",
        "open_session",
    ),
    "runtime.transcript": ("Transcript",),
    "runtime.worker": ("Worker",),
    "text": (
        "safe_line",
        "safe_text",
        "visible_text",
    ),
    "tools.base": (
        "Tool",
        "ToolContext",
        "ToolOutput",
    ),
    "tools.deferred": ("AsyncToolRegistry",),
    "tools.registry": ("tool",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "AgentOptions",
    "AgentProfile",
    "AgentTuiError",
    "AllowAlways",
    "AllowEdited",
    "AllowOnce",
    "AnswerEnded",
    "ApprovalRequest",
    "ApprovalRequested",
    "ApprovalSettled",
    "AsyncToolRegistry",
    "Client",
    "Compacted",
    "CompactionStarted",
    "CompactionUndone",
    "ConfigError",
    "ContentBlock",
    "ConversationSnapshot",
    "DenyCall",
    "Event",
    "EventsMissed",
    "Flags",
    "History",
    "HistoryError",
    "HookDecision",
    "Hooks",
    "Image",
    "Judgement",
    "LastRun",
    "Message",
    "MessageCommitted",
    "ModelProvider",
    "ModelRequest",
    "Noticed",
    "PermissionRules",
    "Plan",
    "Policy",
    "PostToolUseEvent",
    "PreToolUseEvent",
    "Prompt",
    "PromptBlocked",
    "PromptReturned",
    "PromptRun",
    "ProviderError",
    "QueueChanged",
    "QueuedPrompt",
    "Reasoning",
    "ReasoningDelta",
    "RequestRetrying",
    "RequestStarted",
    "RunEnded",
    "RunStarted",
    "Session",
    "StateChanged",
    "StreamEvent",
    "Subscription",
    "Text",
    "TextDelta",
    "Tool",
    "ToolContext",
    "ToolEnded",
    "ToolError",
    "ToolJudged",
    "ToolOutput",
    "ToolProgressed",
    "ToolProposed",
    "ToolResult",
    "ToolSpawned",
    "ToolSpec",
    "ToolStarted",
    "ToolUse",
    "ToolUseDelta",
    "Transcript",
    "Usage",
    "UsageReported",
    "UserPromptSubmitEvent",
    "Worker",
    "WorkerClosed",
    "WorkerFailed",
    "demo_provider",
    "estimate_tokens",
    "event_to_json",
    "load_settings",
    "message_from_json",
    "message_to_json",
    "open_session",
    "plan",
    "query",
    "read_policy",
    "safe_line",
    "safe_text",
    "session_plan",
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
