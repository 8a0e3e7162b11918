"""Owns what `agent-tui rules` tells of the past: what answers teach, what a rule would have changed.

Refuses to add a rule.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Final

import click

from agent_tui.rule_sources import Sources, permissions_of, plain_line
from agent_tui_core.agent.learning import Lesson, learn_rules
from agent_tui_core.agent.replay import Replay, effect_of
from agent_tui_core.agent.rule_layer import PermissionRules
from agent_tui_core.config.rules_file import RememberedRule
from agent_tui_core.history.decisions import PastCall
from agent_tui_core.history.store import History
from agent_tui_core.runtime.learned_rules import since, told_effect, told_lesson, told_questions
from agent_tui_core.runtime.session import HISTORY_FILE

_SHOWN_CALLS: Final = 5
_LONGEST_CALL: Final = 90


def lesson_of(found: Sources, days: int) -> Lesson:
    """What the answers given in this folder teach. Raises `HistoryError`."""
    calls = _calls(found, days, workspace=str(found.folder), asked=True)
    with _Progress("questions judged") as progress:
        return learn_rules(calls, _replay(found), progress)


def effect_told(found: Sources, rule: RememberedRule) -> str:
    """What this rule would have changed, in a sentence; empty without a past. Raises `HistoryError`."""
    workspace = None if rule.workspace is None else str(rule.workspace)
    calls = _calls(found, None, workspace=workspace, asked=rule.behavior == "allow")
    with _Progress("calls judged") as progress:
        effect = effect_of(
            rule.rule, rule.behavior, calls, _replay(found), agent=rule.agent, progress=progress
        )
    return told_effect(effect)


def show_lesson(lesson: Lesson, found: Sources, days: int) -> None:
    """Print the sentence, and each rule with its calls."""
    click.echo(plain_line(told_lesson(lesson, found.folder, days)))
    for number, rule in enumerate(lesson.rules, 1):
        words = click.style(plain_line(rule.rule), bold=True)
        click.echo(f"\n{number:>2}  {words}  {told_questions(rule.questions)}")
        for text, times in rule.calls[:_SHOWN_CALLS]:
            shown = plain_line(text)
            shown = shown if len(shown) <= _LONGEST_CALL else f"{shown[: _LONGEST_CALL - 1]}…"
            click.echo(f"    {times:>4}×  {shown}")
        if (more := len(rule.calls) - _SHOWN_CALLS) > 0:
            click.echo(f"           and {more} more; --json has all")


def lesson_json(lesson: Lesson) -> str:
    """The lesson for programs, in ASCII."""
    rules = [
        {
            "rule": rule.rule,
            "questions": rule.questions,
            "calls": [{"call": text, "times": times} for text, times in rule.calls],
        }
        for rule in lesson.rules
    ]
    return json.dumps(
        {
            "questions": lesson.questions,
            "answered": lesson.answered,
            "denials": lesson.denials,
            "always_asked": lesson.firm,
            "settled_by_now": lesson.answers - lesson.questions,
            "rules": rules,
        }
    )


def _replay(found: Sources) -> Replay:
    return Replay(permissions_of(found, PermissionRules()))


def _calls(found: Sources, days: int | None, *, workspace: str | None, asked: bool) -> Sequence[PastCall]:
    file = found.data_dir / HISTORY_FILE
    if not file.exists():
        return ()

    async def read() -> list[PastCall]:
        history = await History.open(file)
        try:
            begin = since() if days is None else since(days)
            return await history.past_calls(begin, workspace=workspace, asked=asked)
        finally:
            await history.close()

    return asyncio.run(read())


class _Progress:
    """A line on the terminal that counts, where it takes over a second."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._next = time.monotonic() + 1
        self._shown = False

    def __enter__(self) -> _Progress:
        return self

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() >= self._next and sys.stderr.isatty():
            self._next = time.monotonic() + 0.2
            self._shown = True
            click.echo(f"\r{done} of {total} {self._words} ", nl=False, err=True)

    def __exit__(self, *_exc: object) -> None:
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
