"""Owns the words with which servers end an answer that is not whole; refuses to know a protocol.

Gateways pass on the words of one protocol in another, so that all of them count everywhere.
"""

from __future__ import annotations

from typing import Final

LENGTH: Final = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
FILTERED: Final = frozenset(
    {
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "image_prohibited_content",
        "image_safety",
        "safety",
        "sensitive",
        "recitation",
        "prohibited_content",
        "blocklist",
        "spii",
    }
)
FAILED: Final = frozenset(
    {
        "error",
        "failed",
        "failure",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
        "timeout",
        "network_error",
        "server_error",
        "internal_error",
        "model_error",
        "engine_error",
        "engine_overloaded",
        "insufficient_system_resource",
        "function_call_filter",
        "malformed_function_call",
        "malformed_model_output",
        "malformed_tool_use",
        "unexpected_tool_call",
    }
)
