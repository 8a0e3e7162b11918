"""Owns the room where a person's answers become rules: looked for on demand, taken over one by one.

Refuses to add a rule without a yes, and to look by itself: history may be long.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui_core.config.rules_file import RememberedRule
from agent_tui_core.errors import AgentTuiError
from agent_tui_core.history.decisions import MOST_CALLS
from agent_tui_core.runtime.report import ReportRow, ReportSection
from agent_tui_core.runtime.rules import Rules

if TYPE_CHECKING:
    from agent_tui_core.agent.judgement import Behavior
    from agent_tui_core.agent.learning import LearnedRule, Lesson
    from agent_tui_core.agent.replay import Effect, Replay
    from agent_tui_core.history.decisions import PastCall
    from agent_tui_core.history.store import History

DAYS: Final = 30
_DAY: Final = 24 * 60 * 60
_LOOK: Final = "look"
_TAKE: Final = "take over"
_SHOWN_CALLS: Final = 6
_LONGEST_CALL: Final = 60


class LearnedRules:
    """Proposes rules from what was answered in one folder."""

    def __init__(self, rules: Rules, folder: Path) -> None:
        self.history: History | None = None
        """Where the answers are kept; None until the session has opened it."""
        self._rules = rules
        self._folder = folder
        self._lesson: Lesson | None = None

    def report(self) -> ReportSection:
        """What was found, a row for each rule."""
        rows = [self._row(rule) for rule in (self._lesson.rules if self._lesson else ())]
        words = "Rules that your answers would make"
        detail = "looks at your answers of the last 30 days; nothing is taken over without your yes"
        if self._lesson is not None:
            words, detail = "Look again", told_lesson(self._lesson, self._folder)
        rows.append(ReportRow(_LOOK, words, "", detail, verb=_LOOK))
        return ReportSection("Learn rules", tuple(rows))

    async def act(self, row_id: str) -> str:
        """Look for rules, or take one of them over."""
        if row_id == _LOOK:
            self._lesson = await self._learn()
            return told_lesson(self._lesson, self._folder)
        proposed = self._lesson.rules if self._lesson else ()
        if row_id not in {rule.rule for rule in proposed}:
            raise AgentTuiError("that rule is not proposed any more")
        failures: list[str] = []
        self._rules.remembered.add(self._remembered(row_id), failures.append)
        await self._rules.close()
        if failures:
            raise AgentTuiError(failures[0])
        return f"Remembered for this folder: {row_id}"

    def _row(self, rule: LearnedRule) -> ReportRow:
        """A rule that was taken over stays in its place: a second enter must not take over the next one."""
        taken = self._remembered(rule.rule).about in {each.about for each in self._rules.remembered.rules}
        state = "remembered" if taken else told_questions(rule.questions)
        return ReportRow(rule.rule, rule.rule, state, told_calls(rule), verb="" if taken else _TAKE)

    def _remembered(self, rule: str) -> RememberedRule:
        return RememberedRule(rule, workspace=self._folder.resolve())

    async def effect(self, rule: str, behavior: Behavior = "allow", *, folder: Path | None = None) -> str:
        """What this rule would have changed in a folder (the session's, if none is said), in a sentence.

        Empty where nothing was asked or run.
        """
        from agent_tui_core.agent.replay import effect_of

        calls, replay = await self._past(folder, asked=behavior == "allow"), self._replay()
        return told_effect(
            await asyncio.to_thread(effect_of, rule, behavior, calls, replay, progress=_give_way)
        )

    async def _learn(self) -> Lesson:
        from agent_tui_core.agent.learning import learn_rules

        calls, replay = await self._past(asked=True), self._replay()
        return await asyncio.to_thread(learn_rules, calls, replay, _give_way)

    async def _past(self, folder: Path | None = None, *, asked: bool) -> Sequence[PastCall]:
        if self.history is None:
            return ()
        return await self.history.past_calls(since(), workspace=str(folder or self._folder), asked=asked)

    def _replay(self) -> Replay:
        """With the rules as they are now: other threads must not look whether a file changed."""
        from agent_tui_core.agent.permissions import Permissions
        from agent_tui_core.agent.replay import Replay
        from agent_tui_core.agent.rule_book import RuleBook

        now = self._rules.permissions.book
        book = RuleBook(now.layers())
        book.files, book.folders, book.doubt = now.files, now.folders, now.doubt
        return Replay(Permissions(book))


def _give_way(_done: int, _all: int) -> None:
    """Let the loop's thread run between two calls: a key came up to 23 ms late in 99 of 100, now 10."""
    time.sleep(0.0005)


def since(days: int = DAYS) -> float:
    """The moment so many days ago."""
    return time.time() - days * _DAY


def told_lesson(lesson: Lesson, folder: Path, days: int = DAYS) -> str:
    """What was learnt, in one or two sentences; the folder's name is foreign."""
    when = f"the last {days} days"
    if lesson.answers >= MOST_CALLS:
        when += f" (the newest {MOST_CALLS:,} answers of them)"
    if not lesson.answers:
        return f"In {when} you were asked nothing in {folder}: there is nothing to learn from."
    if not lesson.questions:
        return f"All {lesson.answers} questions of {when} are settled by your rules of today."
    asked = f"your {told_questions(lesson.questions)} of {when}"
    firm = f" Always asked about, whatever the rules: {lesson.firm}." if lesson.firm else ""
    if not lesson.rules:
        return f"No narrow rule would have answered two or more of {asked} as you did.{firm}"
    rules = "1 rule" if len(lesson.rules) == 1 else f"{len(lesson.rules)} rules"
    none = f", and contradict none of your {lesson.denials} denials" if lesson.denials else ""
    if len(lesson.rules) == 1:
        none = none.replace("contradict ", "contradicts ")
    return f"{rules} would have answered {lesson.answered} of {asked}{none}.{firm}"


def told_effect(effect: Effect, days: int = DAYS) -> str:
    """What one more rule would have changed, in a sentence; empty where nothing happened that it is about."""
    when = f"In the last {days} days"
    match effect.behavior:
        case _ if not effect.calls:
            return ""
        case "allow":
            words = f"{when} it would have answered {effect.changed} of your {told_questions(effect.calls)}"
            return f"{words}, {effect.against} of which you denied." if effect.against else f"{words}."
        case "deny":
            return f"{when} it would have denied {effect.changed} of the {effect.calls} calls that ran."
        case _:
            words = f"{when} it would have asked about {effect.changed} of the {effect.calls} calls that ran"
            unasked = f", {effect.unasked} of which ran without a question" if effect.changed else ""
            return f"{words}{unasked}."


def told_questions(count: int) -> str:
    """A number of questions."""
    return "1 question" if count == 1 else f"{count} questions"


def told_calls(rule: LearnedRule) -> str:
    """The calls that a rule covers, on one line. Foreign."""
    shown = [f"{_shortened(text)} ×{times}" for text, times in rule.calls[:_SHOWN_CALLS]]
    more = len(rule.calls) - len(shown)
    return "; ".join([*shown, *([f"{more} more"] if more else [])])


def _shortened(text: str) -> str:
    line = text.replace("\n", "\\n")
    return line if len(line) <= _LONGEST_CALL else f"{line[: _LONGEST_CALL - 1]}…"
