"""Owns a dry run of command hooks: what each said, and what they amount to together, in lines for a person.

Refuses to choose the hooks and to print. Nothing but the hooks runs, and what they say is carried out by
nobody. The lines may hold foreign text.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agent_tui_core.blocks import ToolResult
from agent_tui_core.hooks.command import CommandHook, HookRun, run_hook
from agent_tui_core.hooks.commands import CommandHooks
from agent_tui_core.hooks.contract import Point
from agent_tui_core.hooks.folding import (
    complaint,
    conflict,
    fold_call,
    fold_permission,
    fold_prompt,
    fold_result,
    fold_start,
    fold_stop,
)
from agent_tui_core.hooks.json_line import json_line
from agent_tui_core.hooks.responses import response_text
from agent_tui_core.hooks.verdicts import CallVerdict, PromptVerdict, ResultVerdict
from agent_tui_core.records import dataclass
from agent_tui_core.runtime.hook_report import duration

PASSES: Final = 0
ASKS: Final = 1
BLOCKS: Final = 2

_SUBJECTS: Final[Mapping[Point, str]] = {
    "PreToolUse": "tool_name",
    "PostToolUse": "tool_name",
    "PostToolUseFailure": "tool_name",
    "PermissionRequest": "tool_name",
    "Notification": "notification_type",
    "SessionStart": "source",
    "SessionEnd": "reason",
}
"""The key whose value a matcher of this point is about."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it."""

    point: Point
    told: Mapping[str, Any]
    runs: Sequence[HookRun]
    silent: int
    """So many hooks of this point did not want to hear of it."""
    attended: bool


async def trial(
    hooks: Sequence[CommandHook], point: Point, told: Mapping[str, Any], folder: Path, *, attended: bool
) -> Trial:
    """Run those that match, in parallel, as an agent in this folder would have them run."""
    full = {
        "session_id": "trial",
        "transcript_path": "",
        "cwd": str(folder),
        "permission_mode": "default",
        "hook_event_name": point,
        "agent_tui": {"agent_id": "trial", "agent_name": "trial", "model": "", "attended": attended},
        **told,
    }
    subject = str(told.get(_SUBJECTS.get(point, ""), ""))
    matching = CommandHooks(hooks).matching(point, subject, folder)
    given = json_line(full)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run_hook(hook, given, folder)) for hook in matching]
    of_point = sum(hook.point == point for hook in hooks)
    return Trial(point, told, [task.result() for task in tasks], of_point - len(matching), attended)


def told_of(done: Trial) -> tuple[int, list[str]]:
    """The exit code that says it to scripts, and what each hook said with the verdict below."""
    if not done.runs:
        more = f"; {done.silent} of this event have another matcher" if done.silent else ""
        return PASSES, [f"No hook hears of this{more}."]
    lines = [line for run in done.runs for line in _run_lines(run, attended=done.attended)]
    if words := conflict(done.runs):
        lines.append(words)
    code, (verdict, *details) = _verdict(done)
    lines += [f"verdict: {verdict}", *(f"  {line}" for line in details)]
    broke = any(run.failure is not None for run in done.runs)
    return ASKS if broke and code == PASSES else code, lines


def _run_lines(run: HookRun, *, attended: bool) -> list[str]:
    ended = "did not end by itself" if run.exit_code is None else f"exit {run.exit_code}"
    head = f"{run.hook.name}: {ended}, {duration(run.seconds)}"
    if run.failure is not None:
        return [head, f"  {complaint(run, attended=attended)}"]
    answer = run.answer
    said = [] if answer.behavior == "none" else [f"{answer.behavior} {answer.reason}".strip()]
    said += ["stops the agent"] if answer.stop else []
    said += [] if answer.input is None else [f"input: {_json(answer.input)}"]
    said += [] if answer.prompt is None else [f"prompt: {answer.prompt}"]
    said += [] if answer.result is None else [f"result: {answer.result}"]
    said += [] if answer.context is None else [f"context: {answer.context}"]
    said += [f"for the person: {answer.message}"] if answer.message else []
    return [head, *(f"  {line}" for line in said or ["no opinion"])]


def _verdict(done: Trial) -> tuple[int, list[str]]:
    match done.point:
        case "PreToolUse":
            return _of_call(done)
        case "UserPromptSubmit":
            prompt = fold_prompt(
                PromptVerdict(str(done.told.get("prompt", ""))), done.runs, attended=done.attended
            )
            if prompt.blocked is not None:
                return BLOCKS, ["the prompt is held back", f"why: {prompt.blocked}"]
            return PASSES, ["the prompt is sent", f"prompt: {prompt.prompt}", *_contexts(prompt.context)]
        case "PostToolUse" | "PostToolUseFailure":
            return _of_result(done)
        case "PermissionRequest":
            said = fold_permission(done.runs, attended=done.attended)
            word = "a person is asked" if said.behavior == "none" else said.behavior
            code = {"none": ASKS, "allow": PASSES, "deny": BLOCKS}[said.behavior]
            return code, [word, *([f"why: {said.reason}"] if said.reason else [])]
        case "Stop":
            stop = fold_stop(done.runs)
            if stop.go_on is None:
                return PASSES, ["the agent rests"]
            return BLOCKS, ["the agent goes on", f"with: {stop.go_on}"]
        case "SessionStart":
            start = fold_start(done.runs)
            if start.blocked is not None:
                return BLOCKS, ["the agent does not begin", f"why: {start.blocked}"]
            return PASSES, ["the agent begins", *_contexts(start.context)]
        case _:
            return PASSES, ["heard"]


def _of_call(done: Trial) -> tuple[int, list[str]]:
    given = done.told.get("tool_input")
    input_ = given if isinstance(given, dict) else {}
    call = fold_call(CallVerdict(input_), done.runs, attended=done.attended)
    word = "no opinion: rules and person decide" if call.behavior == "none" else call.behavior
    lines = [word, *([f"why: {call.reason}"] if call.reason else [])]
    lines += [f"input: {_json(call.input)}"] if call.input != input_ else []
    lines += ["the agent stops"] if call.stop else []
    code = {"none": PASSES, "allow": PASSES, "ask": ASKS, "deny": BLOCKS}[call.behavior]
    return code, [*lines, *_contexts(call.context)]


def _of_result(done: Trial) -> tuple[int, list[str]]:
    given = done.told.get("tool_response", done.told.get("error", ""))
    result = ToolResult("trial", response_text(given), is_error=done.point == "PostToolUseFailure")
    verdict = fold_result(ResultVerdict(result), done.runs, attended=done.attended)
    lines = [f"the model reads: {verdict.result.content}"]
    if verdict.question:
        return ASKS, ["a person is asked whether the model may read the result", f"why: {verdict.question}"]
    if verdict.stop:
        return BLOCKS, ["the agent stops", f"why: {verdict.reason}", *lines]
    return PASSES, lines


def _contexts(contexts: Sequence[str]) -> list[str]:
    return [f"context: {words}" for words in contexts]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
