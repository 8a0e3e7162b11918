"""The difference between an answer and typing, without a terminal: keys and times only."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from textual.events import Key

from agent_tui.modals.guard import GRACE, HELD, QUIET, SETTLED_TICKS, STILL, TICK, Guard, Weight

DECIDES = frozenset("yans")
AT_ONCE = frozenset("wmerl")
letters = st.sampled_from("yanrselxq ")
gaps = st.floats(min_value=0.005, max_value=GRACE - 0.03)
human_gaps = st.floats(min_value=HELD + 0.01, max_value=GRACE - 0.03)
SETTLED = (SETTLED_TICKS + 1) * TICK


class Question:
    """A Guard on a made-up clock that ticks as the screen's timer does."""

    def __init__(self, *, opened_by_key: bool = False, held: str = "") -> None:
        self.now = 100.0
        self.guard = Guard(self.now, listens=opened_by_key, held=held)
        self.answers: list[str] = []
        self.typed: list[str] = []
        self._next_tick = self.now + TICK

    def wait(self, seconds: float, *, ticking: bool = True) -> None:
        end = self.now + seconds
        while ticking and self._next_tick <= end:
            self.now = self._next_tick
            self._next_tick += TICK
            self._tick()
        self.now = end
        self._next_tick = max(self._next_tick, end)

    def press(self, key: str, at: float | None = None) -> None:
        when = self.now if at is None else at
        weight: Weight = "decides" if key in DECIDES else "at once" if key in AT_ONCE else "text"
        heard = self.guard.press(Key(key, key), when, weight)
        self.typed += [event.key for event in heard.typed]
        if heard.acts is not None:
            self.answers.append(heard.acts.key)

    def _tick(self) -> None:
        if (taken := self.guard.tick(self.now)) is not None:
            self.answers.append(taken.key)


def test_one_key_after_a_quiet_time_answers() -> None:
    question = Question()
    question.wait(QUIET + SETTLED)
    question.press("y")
    question.wait(GRACE + SETTLED)
    assert question.answers == ["y"]
    assert question.typed == []


def test_one_answer_is_given_once() -> None:
    question = Question()
    question.wait(1)
    question.press("y")
    question.wait(5)
    assert question.answers == ["y"]


def test_every_key_of_the_deaf_time_starts_the_quiet_anew() -> None:
    question = Question()
    for _ in range(20):
        question.wait(QUIET - 0.05)
        question.press("y")
        assert question.guard.hearing == "deaf"
    question.wait(QUIET + SETTLED)
    assert question.guard.hearing == "armed"
    assert question.answers == []
    assert question.typed == ["y"] * 20


@given(
    before=st.floats(min_value=0, max_value=1.5),
    burst=st.lists(st.tuples(letters, human_gaps), min_size=2, max_size=12),
)
def test_no_burst_of_letters_answers_wherever_the_question_opens_in_it(
    before: float, burst: list[tuple[str, float]]
) -> None:
    question = Question()
    question.wait(before)
    for key, gap in burst:
        question.press(key)
        question.wait(gap)
    question.wait(3)
    assert not DECIDES & set(question.answers)
    assert question.answers + question.typed == [key for key, _ in burst]


@given(burst=st.lists(st.tuples(letters, gaps), min_size=2, max_size=12))
def test_what_was_typed_over_a_deaf_question_is_given_back_whole_and_in_order(
    burst: list[tuple[str, float]],
) -> None:
    question = Question()
    for key, gap in burst:
        question.press(key)
        question.wait(gap)
    question.wait(3)
    assert question.typed == [key for key, _ in burst]


def test_a_word_that_begins_with_an_answer_is_given_back_whole() -> None:
    question = Question()
    question.wait(1)
    for key in "yes":
        question.press(key)
        question.wait(0.12)
    question.wait(3)
    assert question.answers == []
    assert "".join(question.typed) == "yes"


@given(
    stall=st.floats(min_value=0.1, max_value=5),
    pressed=st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=6),
    first_ticks=st.integers(min_value=0, max_value=2),
)
def test_keys_that_come_late_after_a_stall_are_no_answers(
    stall: float, pressed: list[float], first_ticks: int
) -> None:
    question = Question()
    opened = question.now
    question.wait(stall, ticking=False)
    question.wait(first_ticks * 0.001)
    for _ in range(first_ticks):
        question.guard.tick(question.now)
    for part in sorted(pressed):
        question.press("y", at=opened + part * stall)
    question.wait(3)
    assert question.answers == []


@given(
    until_second=st.floats(min_value=0, max_value=GRACE - 0.03),
    until_stall=st.floats(min_value=0, max_value=1),
    stall=st.floats(min_value=0, max_value=5),
    first_ticks=st.integers(min_value=0, max_value=SETTLED_TICKS - 1),
)
def test_a_second_key_that_is_handed_on_late_after_a_stall_still_makes_both_of_them_typing(
    until_second: float, until_stall: float, stall: float, first_ticks: int
) -> None:
    question = Question()
    question.wait(1)
    question.press("y")
    second_at = question.now + until_second
    question.wait(until_stall * until_second)
    question.wait(until_second - until_stall * until_second + stall, ticking=False)
    for _ in range(first_ticks):
        question.guard.tick(question.now)
    question.press("e", at=second_at)
    question.wait(3)
    assert question.answers == []
    assert question.typed == ["y", "e"]


def test_a_key_that_was_pressed_before_the_question_listened_is_no_answer_however_late_it_comes() -> None:
    question = Question()
    opened = question.now
    question.wait(1)
    assert question.guard.hearing == "armed"
    question.press("y", at=opened + 0.2)
    question.wait(3)
    assert question.answers == []
    assert question.typed == ["y"]


def test_a_key_that_is_held_down_never_answers_and_is_no_text() -> None:
    question = Question()
    question.wait(1)
    question.press("y")
    for _ in range(100):
        question.wait(0.03)
        question.press("y")
    assert question.answers == []
    assert question.typed == []
    assert question.guard.hearing == "deaf"


def test_a_key_held_since_before_the_opening_never_answers() -> None:
    question = Question()
    for _ in range(200):
        question.press("y")
        question.wait(0.033)
    assert question.answers == []


def test_an_enter_after_the_key_takes_it_back() -> None:
    question = Question()
    question.wait(1)
    question.press("y")
    question.wait(0.05)
    question.typed += [key.key for key in question.guard.interrupt(question.now)]
    question.wait(0.3)
    assert question.answers == []
    assert question.typed == ["y"]


# --- the table of keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", sorted(AT_ONCE))
def test_what_can_be_taken_back_acts_at_once_in_a_question_that_a_person_opened(key: str) -> None:
    question = Question(opened_by_key=True)
    question.wait(0.02)
    question.press(key)
    assert question.answers == [key]


@pytest.mark.parametrize("key", sorted(AT_ONCE))
def test_what_can_be_taken_back_is_text_in_one_that_opened_by_itself_until_it_listens(key: str) -> None:
    question = Question()
    question.wait(QUIET - 0.05)
    question.press(key)
    assert (question.answers, question.typed) == ([], [key])
    question.wait(QUIET + SETTLED)
    question.press(key)
    assert question.answers == [key]


def test_two_that_can_be_taken_back_act_both_however_fast_they_come() -> None:
    question = Question(opened_by_key=True)
    question.wait(1)
    question.press("w")
    question.wait(0.12)
    question.press("w")
    assert question.answers == ["w", "w"]
    assert question.typed == []


@pytest.mark.parametrize("key", sorted(DECIDES))
def test_what_decides_is_text_until_the_question_stood_still_also_where_a_person_opened_it(key: str) -> None:
    question = Question(opened_by_key=True)
    question.wait(STILL - 0.05)
    question.press(key)
    question.wait(1)
    assert (question.answers, question.typed) == ([], [key])
    question.press(key)
    question.wait(1)
    assert question.answers == [key]


def test_a_question_that_looks_different_has_to_stand_still_again() -> None:
    question = Question(opened_by_key=True)
    question.wait(2)
    question.guard.show(question.now)
    question.wait(STILL - 0.1)
    question.press("y")
    question.wait(1)
    assert (question.answers, question.typed) == ([], ["y"])


@given(pace=st.floats(min_value=0.75, max_value=3), count=st.integers(min_value=1, max_value=6))
def test_walking_on_with_y_at_a_human_pace_answers_each(pace: float, count: int) -> None:
    held, now = "", 100.0
    for _ in range(count):
        question = Question(held=held)
        question.now, question._next_tick = now, now + TICK
        question.guard = Guard(now, listens=False, held=held)
        pressed = now + pace - GRACE - SETTLED if held else now + 2.0
        question.wait(pressed - now)
        question.press("y")
        question.wait(GRACE + SETTLED)
        assert question.answers == ["y"]
        held, now = "y", question.now


def test_a_key_that_is_held_down_over_its_answer_writes_one_letter_at_most_and_answers_nothing_more() -> None:
    question = Question(held="y")
    question.wait(0.25)
    for _ in range(60):
        question.press("y")
        question.wait(0.033)
    question.wait(2)
    assert question.answers == []
    assert len(question.typed) <= 1


class Typing(RuleBasedStateMachine):
    """Somebody types at three to twelve letters a second while questions come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.guard: Guard | None = None
        self.shown_at = self.now
        self.by_key = False
        self.pressed: list[tuple[float, str]] = []
        self.gone: list[str] = []
        """Letters that are in the prompt or acted; what is chosen is neither yet."""
        self.chosen_at = 0.0

    @rule(by_key=st.booleans())
    def opens(self, by_key: bool) -> None:
        if self.guard is None:
            self.guard, self.shown_at, self.by_key = Guard(self.now, listens=by_key), self.now, by_key

    @rule()
    def is_withdrawn(self) -> None:
        self._leave()

    @rule()
    def navigation_or_escape(self) -> None:
        if self.guard is not None:
            self.gone += [key.key for key in self.guard.interrupt(self.now)]

    @rule(letter=st.sampled_from("yansweml hou"), gap=st.floats(min_value=1 / 12, max_value=1 / 3))
    def types(self, letter: str, gap: float) -> None:
        self._pass(gap)
        self.pressed.append((self.now, letter))
        if self.guard is None:
            self.gone.append(letter)
            return
        weight: Weight = "decides" if letter in DECIDES else "at once" if letter in AT_ONCE else "text"
        heard = self.guard.press(Key(letter, letter), self.now, weight)
        self.gone += [key.key for key in heard.typed]
        if heard.acts is not None:
            assert self._listened(self.now)
            self.gone.append(heard.acts.key)
            if heard.acts.key == "l":
                self.guard = None
        if self.guard is not None and self.guard.chosen is not None:
            self.chosen_at = self.now

    @rule(seconds=st.floats(min_value=0, max_value=1.5))
    def pauses(self, seconds: float) -> None:
        self._pass(seconds)

    @invariant()
    def no_letter_is_lost(self) -> None:
        chosen = self.guard.chosen if self.guard is not None else None
        waiting = [] if chosen is None else [chosen.key]
        assert self.gone + waiting == [letter for _, letter in self.pressed]

    def _pass(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + TICK, end)
            taken = self.guard.tick(self.now) if self.guard is not None else None
            if taken is not None:
                self._decided(taken.key)

    def _decided(self, key: str) -> None:
        at = self.chosen_at
        assert key in DECIDES
        assert at - self.shown_at >= STILL
        assert self.now - at >= GRACE
        assert self.pressed[-1] == (at, key), "a second letter makes both typing"
        assert self._listened(at)
        self.gone.append(key)
        self.guard = None

    def _listened(self, at: float) -> bool:
        """Whether a person opened it, or a pause of all keys came before the keys that acted."""
        if self.by_key:
            return True
        times = [self.shown_at, *(when for when, _ in self.pressed if self.shown_at < when < at), at]
        return any(after - before >= QUIET for before, after in pairwise(times))

    def _leave(self) -> None:
        if self.guard is not None:
            self.gone += [key.key for key in self.guard.interrupt(self.now)]
            self.guard = None


TestTyping = Typing.TestCase
TestTyping.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
