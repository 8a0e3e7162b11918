"""Owns what the answers of the command hooks of one point amount to together; refuses to run a hook.

`deny > defer > ask > allow`, whatever the order; of several rewritten inputs the last in the order of the
configuration wins. A broken hook counts as what it says for that case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from agent_tui_core.blocks import JsonObject
from agent_tui_core.hooks.command import HookRun
from agent_tui_core.hooks.contract import RANK, Behavior, HookAnswer
from agent_tui_core.hooks.verdicts import (
    CallVerdict,
    PermissionVerdict,
    PromptVerdict,
    ResultVerdict,
    StartVerdict,
    StopVerdict,
    withhold,
)

_NOTHING: Final = "it counts for nothing"
_CONSEQUENCES: Final = {
    ("PreToolUse", "ask"): "the call is asked about",
    ("PreToolUse", "deny"): "the call is denied",
    ("UserPromptSubmit", "ask"): "the prompt is held back",
    ("UserPromptSubmit", "deny"): "the prompt is held back",
    ("PostToolUse", "ask"): "you are asked whether the model may read the result",
    ("PostToolUse", "deny"): "the result is withheld from the model",
    ("PermissionRequest", "deny"): "the call is denied",
    ("PermissionRequest", "ask"): "you are asked",
}


def complaint(run: HookRun, *, attended: bool) -> str:
    """What to tell a person of a hook that broke."""
    hook = run.hook
    amounts = hook.broken(attended=attended)
    consequence = _CONSEQUENCES.get((hook.point, amounts), _NOTHING)
    return f"The {hook.point} hook {hook.name} broke: {run.failure}. So {consequence}."


def fold_call(verdict: CallVerdict, runs: Sequence[HookRun], *, attended: bool) -> CallVerdict:
    """What PreToolUse hooks make of a call of which others said `verdict`."""
    said = [(run, _counted(run, attended=attended)) for run in runs]
    inputs = [answer.input for _, answer in said if answer.input is not None]
    folded = replace(
        verdict,
        input=inputs[-1] if inputs else verdict.input,
        context=(*verdict.context, *_contexts(said)),
        stop=verdict.stop or any(answer.stop for _, answer in said),
    )
    strongest = max(said, key=lambda one: RANK[one[1].behavior], default=None)
    if strongest is None:
        return folded
    run, answer = strongest
    behavior, reason, stop = _settled(run, answer, attended=attended)
    if RANK[behavior] <= RANK[verdict.behavior]:
        return folded
    return replace(folded, behavior=behavior, reason=reason, stop=folded.stop or stop)


def _settled(
    run: HookRun, answer: HookAnswer, *, attended: bool
) -> tuple[Literal["none", "allow", "ask", "deny"], str, bool]:
    """A call that is put off waits for a person; where there is none it does not run, and the agent stops."""
    match answer.behavior:
        case "defer" if attended:
            return "ask", _says(run, "defers", answer.reason), False
        case "defer":
            return "deny", _says(run, "defers", answer.reason), True
        case "ask" if run.failure is None:
            return "ask", _says(run, "asks", answer.reason), False
        case behavior:
            return behavior, answer.reason, False


def _says(run: HookRun, verb: str, reason: str) -> str:
    words = f"the hook {run.hook.name} {verb}"
    return f"{words}: {reason}" if reason else words


def conflict(runs: Sequence[HookRun]) -> str | None:
    """What to tell of hooks that rewrote the same call in different ways; None: they did not."""
    rewrote = [run for run in runs if run.answer.input is not None]
    different = [run for run in rewrote[:-1] if run.answer.input != rewrote[-1].answer.input]
    if not different:
        return None
    names = ", ".join(run.hook.name for run in different)
    last = rewrote[-1].hook.name
    return f"{len(rewrote)} hooks rewrote this call in different ways: {last} wins over {names}"


def fold_prompt(verdict: PromptVerdict, runs: Sequence[HookRun], *, attended: bool) -> PromptVerdict:
    """What UserPromptSubmit hooks make of a prompt."""
    said = [(run, _counted(run, attended=attended)) for run in runs]
    rewritten = [answer.prompt for _, answer in said if answer.prompt is not None]
    verdict = PromptVerdict(
        rewritten[-1] if rewritten else verdict.prompt,
        verdict.blocked,
        (*verdict.context, *_contexts(said)),
    )
    for run, answer in said:
        if answer.behavior == "deny":
            return replace(verdict, blocked=answer.reason or f"the hook {run.hook.name} blocks it")
    return _held_back(verdict, said)


def _held_back(verdict: PromptVerdict, said: list[tuple[HookRun, HookAnswer]]) -> PromptVerdict:
    for run, answer in said:
        if run.failure is not None and answer.behavior != "none":
            return replace(verdict, blocked=answer.reason)
    return verdict


def fold_result(verdict: ResultVerdict, runs: Sequence[HookRun], *, attended: bool) -> ResultVerdict:
    """What PostToolUse and PostToolUseFailure hooks make of a result; a block is told next to it."""
    said = [(run, _counted(run, attended=attended)) for run in runs]
    result = verdict.result
    for _, answer in said:
        if answer.result is not None:
            result = replace(result, content=answer.result, images=())
    told = [*_contexts(said)]
    question = withheld = ""
    for run, answer in said:
        if run.failure is None:
            if answer.behavior == "deny" and answer.reason and not answer.stop:
                told.append(answer.reason)
        elif run.hook.point == "PostToolUse" and answer.behavior == "ask":
            question = question or answer.reason
        elif run.hook.point == "PostToolUse" and answer.behavior == "deny":
            withheld = withheld or answer.reason
    content = "\n\n".join((result.content, *told))
    result = replace(result, content=content)
    if withheld:
        result, question = withhold(result, withheld), ""
    stopping = [answer.reason for _, answer in said if answer.stop]
    return ResultVerdict(
        result, verdict.stop or bool(stopping), verdict.reason or "".join(stopping[:1]), question
    )


def fold_permission(runs: Sequence[HookRun], *, attended: bool) -> PermissionVerdict:
    """What PermissionRequest hooks say in a person's place."""
    said = [_counted(run, attended=attended) for run in runs]
    denied = [answer for answer in said if answer.behavior == "deny"]
    if denied:
        reason = denied[0].reason or "a hook denied it"
        return PermissionVerdict("deny", reason, stop=any(answer.stop for answer in said))
    allowed = [answer for answer in said if answer.behavior == "allow"]
    if not allowed:
        return PermissionVerdict()
    inputs: list[JsonObject] = [answer.input for answer in allowed if answer.input is not None]
    return PermissionVerdict("allow", "a hook allowed it", inputs[-1] if inputs else None)


def fold_start(runs: Sequence[HookRun]) -> StartVerdict:
    """What SessionStart hooks say."""
    said = [(run, run.answer) for run in runs]
    stopping = [answer.reason for _, answer in said if answer.stop]
    return StartVerdict(tuple(_contexts(said)), stopping[0] if stopping else None)


def fold_stop(runs: Sequence[HookRun]) -> StopVerdict:
    """What Stop hooks say: those that block have the agent go on, unless one says that it shall stop."""
    stopping = [run.answer.reason for run in runs if run.answer.stop]
    if stopping:
        return StopVerdict(stopped=stopping[0])
    blocking = [run.answer for run in runs if run.answer.behavior == "deny"]
    words = [answer.reason or "a hook says that there is more to do" for answer in blocking]
    return StopVerdict("\n\n".join(dict.fromkeys(words)) if words else None)


def _counted(run: HookRun, *, attended: bool) -> HookAnswer:
    if run.failure is None:
        return run.answer
    behavior: Behavior = run.hook.broken(attended=attended)
    return HookAnswer(behavior, f"the hook {run.hook.name} broke: {run.failure}")


def _contexts(said: Sequence[tuple[HookRun, HookAnswer]]) -> list[str]:
    return [answer.context for _, answer in said if answer.context]
