"""Owns what a person's answers teach: the fewest narrow rules that would have given most of them.

`Permissions` judges each question with the rules and without. Refuses a rule that would have given one
otherwise, and to add any.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Final

from agent_tui_core.agent.replay import Progress, Question, Replay, no_progress, questions_of
from agent_tui_core.agent.rule_candidates import (
    LEAST_CALLS,
    Candidate,
    Piece,
    exact_candidate,
    pieces_of,
    wider_candidates,
    words_of,
)
from agent_tui_core.history.decisions import PastCall
from agent_tui_core.records import dataclass

LEAST_ANSWERS: Final = 2
"""A rule that would have answered less is not worth a person's look."""
MOST_RULES: Final = 12


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """A proposal, with the calls that it would have allowed, the most usual first."""

    rule: str
    questions: int
    calls: tuple[tuple[str, int], ...]
    """Each call as one text, and how often it was asked about. Foreign."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What can be learnt from the answers of a person."""

    answers: int
    """How many there were."""
    questions: int
    """How many of them would be asked about today."""
    denials: int
    """How many of those were denied, or changed before they ran."""
    firm: int
    """How many of those no allow rule can answer: protected names, ask rules."""
    answered: int
    """How many of those the proposed rules would have answered, all as the person did."""
    rules: tuple[LearnedRule, ...]


@dataclass(slots=True)
class _Open:
    """A question that rules could answer, by its pieces."""

    question: Question
    pieces: frozenset[Piece]
    closed_by: dict[str, set[Piece]] = field(default_factory=dict)
    """The pieces that a rule allows."""

    def left(self, rules: Collection[str]) -> frozenset[Piece]:
        return self.pieces.difference(*(self.closed_by.get(rule, ()) for rule in rules))


def learn_rules(calls: Sequence[PastCall], replay: Replay, progress: Progress = no_progress) -> Lesson:
    """Propose rules for one folder from the calls that a person decided there."""
    questions = questions_of(calls)
    opened: list[_Open] = []
    asked = denials = firm = 0
    for number, question in enumerate(questions):
        progress(number, 2 * len(questions))
        judgement = replay.question(question)
        if judgement.behavior != "ask":
            continue
        asked += question.times
        denials += question.denied
        if judgement.rule is not None:
            firm += question.times
            continue
        permissions = replay.permissions(question.agent_name)
        opened.append(_Open(question, pieces_of(question, permissions)))
    candidates = _candidates(opened, replay)
    for number, each in enumerate(opened):
        progress(len(questions) + number, 2 * len(questions))
        _try(each, candidates, replay)
    chosen = _fewest(opened, candidates)
    chosen, answered = _checked(chosen, opened, replay)
    return Lesson(
        answers=sum(question.times for question in questions),
        questions=asked,
        denials=denials,
        firm=firm,
        answered=sum(each.question.times for each in answered),
        rules=tuple(_learned(rule, answered) for rule in chosen),
    )


@dataclass(slots=True)
class _Candidates:
    exact: dict[Piece, Candidate] = field(default_factory=dict)
    wider: dict[tuple[str, ...], Candidate] = field(default_factory=dict)
    folders: list[Candidate] = field(default_factory=list)
    tools: dict[str, Candidate] = field(default_factory=dict)
    """Those without a pattern cover what was denied as well."""

    def about(self, piece: Piece) -> Iterator[Candidate]:
        """Those that may allow the piece."""
        if piece in self.exact:
            yield self.exact[piece]
        elif piece[0] in self.tools:
            yield self.tools[piece[0]]
        words = words_of(piece)
        for count in range(1, len(words) + 1):
            if words[:count] in self.wider:
                yield self.wider[words[:count]]
        if piece[0] in {"Write", "Edit"}:
            yield from self.folders

    def __iter__(self) -> Iterator[Candidate]:
        yield from self.exact.values()
        yield from self.wider.values()
        yield from self.folders


def _candidates(opened: Sequence[_Open], replay: Replay) -> _Candidates:
    """From what was allowed, and never denied."""
    found = _Candidates()
    pieces = [(each.question, piece) for each in opened if not each.question.denied for piece in each.pieces]
    plain = replay.permissions("")
    kinds: Counter[str] = Counter(piece[0] for piece in dict.fromkeys(piece for _, piece in pieces))
    for question, piece in pieces:
        if piece in found.exact:
            continue
        candidate = exact_candidate(question, piece, plain)
        # A tool without patterns is allowed with any input: three different calls speak for that.
        if candidate and ("(" in candidate.rule or kinds[piece[0]] >= LEAST_CALLS):
            found.exact[piece] = candidate
    for candidate in wider_candidates(pieces, plain):
        if candidate.rule.startswith("Bash("):
            found.wider[candidate.words] = candidate
        else:
            found.folders.append(candidate)
    found.tools = {piece[0]: each for piece, each in found.exact.items() if "(" not in each.rule}
    return found


def _try(each: _Open, candidates: _Candidates, replay: Replay) -> None:
    """Judge a question with each rule that may allow a part of it."""
    question = each.question
    for piece in each.pieces:
        for candidate in candidates.about(piece):
            if candidate.rule in each.closed_by:
                continue
            if replay.question(question, [candidate.rule]).behavior == "allow":
                each.closed_by[candidate.rule] = set(each.pieces)
            elif len(each.pieces) > 1:
                permissions = replay.permissions(question.agent_name, [("allow", candidate.rule)])
                each.closed_by[candidate.rule] = set(each.pieces - pieces_of(question, permissions))


def _fewest(opened: Sequence[_Open], candidates: _Candidates) -> list[str]:
    """A greedy cover: each time the rule that answers most of what is left, of equals the narrowest."""
    allowed = [each for each in opened if not each.question.denied]
    denied = [each for each in opened if each.question.denied]
    left = {candidate.rule: candidate for candidate in candidates}
    by_rule: dict[str, list[_Open]] = defaultdict(list)
    for each in allowed:
        for rule, pieces in each.closed_by.items():
            if pieces:
                by_rule[rule].append(each)
    chosen: list[str] = []
    while left and len(chosen) < MOST_RULES:
        gains = {rule: _gain(rule, by_rule[rule], chosen) for rule in left}
        best = min(left.values(), key=lambda candidate: (-gains[candidate.rule], candidate.width))
        del left[best.rule]
        if gains[best.rule] < 1:
            break
        if all(each.left([*chosen, best.rule]) for each in denied):
            chosen.append(best.rule)
    return _worth_it(chosen, allowed)


def _gain(rule: str, about: Sequence[_Open], chosen: Sequence[str]) -> Fraction:
    gain = Fraction(0)
    for each in about:
        before = each.left(chosen)
        if before:
            closed = len(before & each.closed_by[rule])
            gain += Fraction(closed * each.question.times, len(each.pieces))
    return gain


def _worth_it(chosen: list[str], allowed: Sequence[_Open]) -> list[str]:
    """Leave out, last chosen first, what the others do without."""

    def answered(rules: Sequence[str]) -> int:
        return sum(each.question.times for each in allowed if not each.left(rules))

    for rule in reversed(tuple(chosen)):
        others = [other for other in chosen if other != rule]
        if answered(chosen) - answered(others) < LEAST_ANSWERS:
            chosen = others
    return chosen


def _checked(chosen: list[str], opened: Sequence[_Open], replay: Replay) -> tuple[list[str], list[_Open]]:
    """Judge every question with all rules at once; a rule too much for one denial is given up."""
    denied = [each for each in opened if each.question.denied]
    while chosen and any(replay.question(each.question, chosen).behavior == "allow" for each in denied):
        chosen = chosen[:-1]
    if not chosen:
        return [], []
    allowed = (each for each in opened if not each.question.denied)
    return chosen, [each for each in allowed if replay.question(each.question, chosen).behavior == "allow"]


def _learned(rule: str, answered: Sequence[_Open]) -> LearnedRule:
    about = [each.question for each in answered if each.closed_by.get(rule)]
    calls: Counter[str] = Counter()
    for question in about:
        calls[question.shown] += question.times
    return LearnedRule(rule, calls.total(), tuple(calls.most_common()))
