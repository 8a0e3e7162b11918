"""What `records.dataclass` makes is what the standard decorator would have made."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

import pytest

import agent_tui_core
from agent_tui_core.records import dataclass

Decorator = Callable[..., Callable[[type[Any]], type[Any]]]


def made_by(decorator: Decorator, **options: bool) -> type[Any]:
    class Value:
        """A value."""

        plain: int
        given: str = "x"
        made: list[int] = field(default_factory=list, compare=False)
        hidden: float = field(default=1.5, repr=False, hash=False)
        kept: int = field(default=7, init=False)
        named: bool = field(default=False, kw_only=True)

        def doubled(self) -> int:
            return self.plain * 2

    return decorator(**options)(Value)


OPTIONS = [
    {"frozen": True, "slots": True},
    {"slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
]


@pytest.fixture(params=OPTIONS, ids=["frozen", "changeable", "by name"])
def both(request: pytest.FixtureRequest) -> tuple[type[Any], type[Any]]:
    return made_by(dataclass, **request.param), made_by(dataclasses.dataclass, **request.param)


@dataclass(frozen=True, slots=True)
class Pair:
    """One that can be pickled: it has a name in this module."""

    left: int
    right: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Odd:
    """One that brings its own methods."""

    number: int
    rest: int = 0

    def __post_init__(self) -> None:
        if self.number % 2 == 0:
            raise ValueError("even")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Odd) and self.number == other.number

    def __repr__(self) -> str:
        return f"odd {self.number}"


def test_it_is_made_and_shown_as_the_standard_one(both: tuple[type[Any], type[Any]]) -> None:
    ours, theirs = (cls(plain=1, made=[2], named=True) for cls in both)
    assert repr(ours) == repr(theirs)
    assert [getattr(ours, each.name) for each in dataclasses.fields(theirs)] == [1, "x", [2], 1.5, 7, True]
    assert ours.doubled() == 2


def test_its_signature_fields_and_patterns_are_the_standard_ones(both: tuple[type[Any], type[Any]]) -> None:
    ours, theirs = both
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))  # before the first instance
    ours(plain=1)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    assert repr(ours.__dataclass_params__) == repr(theirs.__dataclass_params__)
    assert [each.name for each in dataclasses.fields(ours)] == [
        each.name for each in dataclasses.fields(theirs)
    ]


def test_equality_and_hash_follow_the_fields(both: tuple[type[Any], type[Any]]) -> None:
    for cls in both:
        assert cls(plain=1, made=[2]) == cls(plain=1, made=[3])  # not compared
        assert cls(plain=1) != cls(plain=2)
        assert cls(plain=1) != cls(plain=1, named=True)
        assert cls(plain=1) != 1
    ours, theirs = both
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)
    if ours.__hash__ is not None:
        assert hash(ours(plain=1, hidden=1.0)) == hash(ours(plain=1, hidden=2.0))
        assert hash(ours(plain=1)) == hash(theirs(plain=1))


def test_a_default_that_is_made_is_made_for_each(both: tuple[type[Any], type[Any]]) -> None:
    ours, _ = both
    assert ours(plain=1).made is not ours(plain=1).made


@pytest.mark.parametrize("arguments", [{}, {"plain": 1, "wrong": 2}, {"plain": 1, "kept": 3}])
def test_wrong_arguments_are_refused_in_the_same_words(
    both: tuple[type[Any], type[Any]], arguments: dict[str, int]
) -> None:
    said = []
    for cls in both:
        with pytest.raises(TypeError) as refused:
            cls(**arguments)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_a_frozen_value_cannot_be_changed() -> None:
    pair = Pair(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="'left'"):
        pair.left = 2  # type: ignore[misc]  # that is the point
    with pytest.raises(dataclasses.FrozenInstanceError, match="'left'"):
        del pair.left
    with pytest.raises(dataclasses.FrozenInstanceError):
        pair.other = 2  # type: ignore[attr-defined]  # and so is this
    assert not hasattr(pair, "__dict__")


def test_it_is_copied_replaced_pickled_and_taken_apart() -> None:
    pair = Pair(1, ["a"])
    for other in (copy.copy(pair), copy.deepcopy(pair), pickle.loads(pickle.dumps(pair))):
        assert other == pair
        assert other is not pair
    assert replace(pair, left=2) == Pair(2, ["a"])
    assert dataclasses.asdict(pair) == {"left": 1, "right": ["a"]}
    match pair:
        case Pair(left, [name]):
            assert (left, name) == (1, "a")
        case _:
            pytest.fail("it has no patterns")


def test_its_own_methods_stay() -> None:
    assert Odd(1, 2) == Odd(1, 3)
    assert repr(Odd(3)) == "odd 3"
    assert hash(Odd(1, 2)) != hash(Odd(1, 3))  # as the standard one: by the fields
    with pytest.raises(ValueError, match="even"):
        Odd(2)


def test_a_class_that_inherits_is_refused() -> None:
    with pytest.raises(TypeError, match="inherits"):

        @dataclass(frozen=True, slots=True)
        class More(Pair):
            more: int = 0


def test_every_value_of_core_has_an_init_that_takes_its_fields() -> None:
    checked = 0
    for module in pkgutil.walk_packages(agent_tui_core.__path__, "agent_tui_core."):
        for cls in vars(importlib.import_module(module.name)).values():
            if not isinstance(cls, type) or not hasattr(cls, "__dataclass_fields__"):
                continue
            wanted = {each.name for each in dataclasses.fields(cls) if each.init}
            assert set(inspect.signature(cls).parameters) == wanted, cls
            checked += 1
    assert checked > 150
