"""Owns what a client is told before it begins: model, server, tools, limits; refuses what cannot work.

Refuses to reach anything: a server that is not there shows with the first request.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from agent_tui_core.agent.permissions import PermissionRules
from agent_tui_core.blocks import JsonObject
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.messages import ReasoningEffort, RequestOptions, ThinkTags
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.records import dataclass
from agent_tui_core.tools.base import Tool
from agent_tui_core.wire.headers import header_name_problem, header_value_problem
from agent_tui_core.wire.protocols import PROTOCOLS, WireProtocol
from agent_tui_core.wire.request_options import number_problem, problem_with

_UNNAMED = "default"
"""Asked for where a server is named and no model: servers with one model take any name."""
_MOST_TOKENS: Final = 100_000_000
_NUMBERS: Final = (
    ("max_tool_iterations", 1, 1_000_000, True),
    ("max_tokens", 1, _MOST_TOKENS, True),
    ("context_limit", 1, _MOST_TOKENS, True),
    ("retries", 0, 1_000, True),
    ("connect_timeout", 0.001, 86_400, False),
    ("idle_timeout", 0.001, 86_400, False),
    ("progress_timeout", 0.001, 86_400, False),
)
"""Name, least, most, and whether it has no fraction."""
_MAY_BE_NONE: Final = frozenset({"max_tokens", "context_limit", "progress_timeout"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """What a `Client` works with. Raises ValueError for what cannot work.

    `dataclasses.replace` makes others of them.
    """

    model: str
    """The name by which the server knows the model."""
    base_url: str = "http://localhost:11434/v1"
    """Where the endpoints are, `/v1` included."""
    api_key: str | None = field(default=None, repr=False)
    """Sent to `base_url` and nowhere else; "not-needed", "" and None send none."""
    system_prompt: str = ""
    """Stands before every conversation; empty sends none."""
    tools: Sequence[Tool] = ()
    """What the model may call; two of one name are a ValueError."""
    hooks: Hooks = field(default_factory=Hooks)
    """Hear of prompts, calls and results, in both modes."""
    permissions: PermissionRules | None = None
    """None allows every tool that was given; with rules, what they do not allow is denied, in both modes."""
    auto_execute_tools: bool = False
    """On: calls run by themselves until the model has no more. Off: the caller runs them."""
    max_tool_iterations: int = 25
    """Rounds of calls that one run may make; then its end is "limit"."""
    max_tokens: int | None = None
    """Tokens that one answer may have; None leaves it to the server."""
    temperature: float | None = None
    """None leaves it to the server."""
    top_p: float | None = None
    """None leaves it to the server."""
    stop: Sequence[str] = ()
    """Texts at which an answer ends, without them; the protocol "responses" has none."""
    seed: int | None = None
    """For answers that repeat; only the protocol "chat" has one."""
    reasoning_effort: ReasoningEffort | None = None
    """"none" to "max", as far as the model knows the word; None leaves it to the server."""
    extra_body: JsonObject = field(default_factory=dict)
    """Further fields of each request, for what only this server knows."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further headers of each request; they go to `base_url` and nowhere else, and are never shown."""
    context_limit: int | None = None
    """Tokens that the model can read. Near it the oldest messages are summarised in requests; None waits
    until the server says that they are too many."""
    connect_timeout: float = 10.0
    """Seconds."""
    idle_timeout: float = 300.0
    """Seconds without a byte from the server; the whole answer may take as long as it likes."""
    progress_timeout: float | None = None
    """Seconds without text, call or usage, whatever bytes come; None waits for ever."""
    retries: int = 3
    """How often a request is made again that failed before anything came."""
    workspace: Path | None = None
    """Where tools work; None is the current folder."""
    protocol: WireProtocol = "chat"
    """What the server speaks: "chat" (completions), "anthropic" (Messages) or "responses" (OpenAI's)."""
    think_tags: ThinkTags = True
    """Text that begins with `<think>` is reasoning; "open": also without that tag, up to `</think>`."""
    thinking: bool = False
    """Ask for reasoning, where the protocol can."""
    provider: ModelProvider | None = None
    """Answers in place of the server at `base_url`; clients may share it, and whoever made it closes it."""

    def __post_init__(self) -> None:
        """Check what can be checked without a server."""
        if not isinstance(self.model, str) or not self.model.strip():
            raise ValueError("model: name the model that shall answer")
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol: should be one of {', '.join(PROTOCOLS)}, not {self.protocol!r}")
        for name, least, most, whole in _NUMBERS:
            value = getattr(self, name)
            problem = number_problem(value, least, most, whole=whole)
            if problem or (value is None and name not in _MAY_BE_NONE):
                unit = ", in seconds" if name.endswith("timeout") else ""
                raise ValueError(f"{name}{unit}: {problem or 'should be a number, not None'}")
        if self.provider is None:
            self._check_server()
        if wrong := problem_with(self.request_options, self.protocol):
            raise ValueError(f"{wrong[0]}: {wrong[1]}")

    def _check_server(self) -> None:
        if not isinstance(self.base_url, str) or not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url: should begin with http:// or https://, not {self.base_url!r}")
        if self.api_key is not None and not isinstance(self.api_key, str):
            raise ValueError("api_key: should be a text")
        if not isinstance(self.headers, Mapping):
            raise ValueError("headers: should be a mapping of names to texts")
        for name, value in self.headers.items():
            if problem := header_name_problem(name) or header_value_problem(value):
                raise ValueError(f"headers[{name!r}]: {problem}")

    @property
    def request_options(self) -> RequestOptions:
        """What each request is asked with."""
        return RequestOptions(
            temperature=self.temperature,
            top_p=self.top_p,
            stop=self.stop,
            seed=self.seed,
            reasoning_effort=self.reasoning_effort,
            think_tags=self.think_tags,
            extra_body=self.extra_body,
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> AgentOptions:
        """What OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_API_KEY and AGENT_TUI_MODEL say, in this order.

        Anthropic is asked where only its key is set; without a server or key the demo model answers. Raises
        ValueError for a value that cannot be used.
        """
        from agent_tui_core.config.servers import (
            ANTHROPIC_BASE_URL,
            ANTHROPIC_KEY,
            ANTHROPIC_MODEL,
            OPENAI_BASE_URL,
            OPENAI_KEY,
            OPENAI_MODEL,
        )

        said = os.environ if environ is None else environ
        key, model = said.get(OPENAI_KEY) or None, said.get("AGENT_TUI_MODEL")
        base_url = said.get("OPENAI_BASE_URL") or (OPENAI_BASE_URL if key else "")
        if base_url:
            usual = OPENAI_MODEL if base_url == OPENAI_BASE_URL else _UNNAMED
            return cls(model=model or usual, base_url=base_url, api_key=key)
        if anthropic := said.get(ANTHROPIC_KEY):
            return cls(
                model=model or ANTHROPIC_MODEL,
                base_url=ANTHROPIC_BASE_URL,
                api_key=anthropic,
                protocol="anthropic",
            )
        from agent_tui_core.providers.demo import demo_provider

        return cls(model=model or "demo/helper", provider=demo_provider())

    @property
    def key(self) -> str | None:
        """The key to send; None when there is none."""
        return None if self.api_key in {None, "", "not-needed"} else self.api_key
