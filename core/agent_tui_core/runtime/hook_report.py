"""Owns how a session's command hooks are shown to a person: what they are, how they fare; changes none."""

from __future__ import annotations

import time
from typing import Final

from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.commands import CommandHooks
from agent_tui_core.hooks.health import HookHealth
from agent_tui_core.runtime.report import ReportRow

DECIDING: Final = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest")
"""Points where it makes a difference that a hook broke."""


def hook_rows(commands: CommandHooks) -> tuple[ReportRow, ...]:
    """A row for each hook, and one for each that cannot be used."""
    rows = [_row(hook, number, commands.health.of(hook.id)) for number, hook in enumerate(commands.all)]
    rows += [
        ReportRow(f"problem-{i}", "Not used", detail=words, bad=True)
        for i, words in enumerate(commands.problems)
    ]
    return tuple(rows)


def _row(hook: CommandHook, number: int, health: HookHealth) -> ReportRow:
    where = f"{hook.point} {hook.matcher}" if hook.matcher else hook.point
    parts = [hook.source, when_broken(hook)]
    if health.last_failed_at is not None:
        parts.append(f"broke {_ago(health.last_failed_at)}: {health.last_failure}")
    return ReportRow(
        id=f"{hook.id}-{number}",
        title=f"{where}: {hook.name}",
        state=_state(health),
        detail=" · ".join(part for part in parts if part),
        bad=health.failing,
    )


def when_broken(hook: CommandHook) -> str:
    """What the configuration says of it for the case that it breaks."""
    if hook.point not in DECIDING:
        return "broken: is told"
    if hook.on_error is not None:
        return f"broken: {'counts for nothing' if hook.on_error == 'allow' else hook.on_error}"
    return (
        "broken: counts for nothing (compat)" if hook.compat else "broken: asks, denies when nobody is there"
    )


def _state(health: HookHealth) -> str:
    if health.last_at is None:
        return "not run yet"
    runs = "1 run" if health.runs == 1 else f"{health.runs} runs"
    failed = f", {health.failures} broke" if health.failures else ""
    times = f"p50 {duration(health.p50)}, p95 {duration(health.p95)}"
    return f"{runs}{failed}, last {_ago(health.last_at)} in {duration(health.last_seconds)}, {times}"


def duration(seconds: float) -> str:
    """Seconds as a person reads them: 40 ms, 1.2 s."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _ago(at: float) -> str:
    seconds = max(0, int(time.time() - at))
    if seconds < 60:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago" if seconds < 3600 else f"{seconds // 3600} h ago"
