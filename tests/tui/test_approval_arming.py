"""The difference between an answer and typing, without a terminal: keys and times only."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key

from agent_tui.modals.arming import GRACE, QUIET, SETTLED_TICKS, TICK, Arming

ANSWERS = frozenset("yanrsel")
letters = st.sampled_from("yanrselxq ")
gaps = st.floats(min_value=0.005, max_value=GRACE - 0.03)
SETTLED = (SETTLED_TICKS + 1) * TICK


class Question:
    """An Arming on a made-up clock that ticks as the screen's timer does."""

    def __init__(self) -> None:
        self.now = 100.0
        self.arming = Arming(self.now)
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
        typed = self.arming.press(Key(key, key), when, answers=key in ANSWERS)
        self.typed += [event.key for event in typed]

    def _tick(self) -> None:
        if (taken := self.arming.tick(self.now)) is not None:
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
        assert question.arming.hearing == "deaf"
    question.wait(QUIET + SETTLED)
    assert question.arming.hearing == "armed"
    assert question.answers == []
    assert question.typed == ["y"] * 20


@given(
    before=st.floats(min_value=0, max_value=1.5),
    burst=st.lists(st.tuples(letters, gaps), min_size=2, max_size=12),
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
    assert question.answers == []


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
        question.arming.tick(question.now)
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
        question.arming.tick(question.now)
    question.press("e", at=second_at)
    question.wait(3)
    assert question.answers == []
    assert question.typed == ["y", "e"]


def test_a_key_that_was_pressed_before_the_question_listened_is_no_answer_however_late_it_comes() -> None:
    question = Question()
    opened = question.now
    question.wait(1)
    assert question.arming.hearing == "armed"
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
    assert question.arming.hearing == "deaf"


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
    question.arming.noise(question.now)
    question.wait(0.3)
    assert question.answers == []
