"""Owns how the class of a value is made: `@dataclass`, written as ever, at a tenth of the standard price.

Refuses what values don't need: inheritance, order, `InitVar`. The standard decorator compiles six functions
for each of a hundred classes before the first frame; this one compiles one, for the first instance.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

# A type checker sees the standard decorator: what it knows of fields, `replace` and frozen values holds here.
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

_T = TypeVar("_T")
_Values = Callable[[object], object]


class _Absent:
    """In the place of a default that a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_ABSENT: Final = _Absent()


def _dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False
) -> Callable[[type[_T]], type[_T]]:
    """Make a class that behaves as the standard decorator's; raises `TypeError` for one that inherits."""

    def made(cls: type[_T]) -> type[_T]:
        if cls.__bases__ != (object,):
            raise TypeError(f"{cls.__name__} inherits: use dataclasses.dataclass for it")
        own = set(vars(cls))
        has_hash = "__hash__" in own and vars(cls)["__hash__"] is not None
        made = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=slots)(cls)
        for name, method in _methods(made, frozen=frozen, has_hash=has_hash).items():
            if name not in own or name in {"__init__", "__hash__"}:
                setattr(made, name, method)
        asked = getattr(made, "__dataclass_params__")  # noqa: B009 - a type checker doesn't know it
        asked.init = asked.repr = asked.eq = True
        asked.frozen = frozen
        return made

    return made


if not TYPE_CHECKING:
    dataclass = _dataclass


def _methods(cls: type, *, frozen: bool, has_hash: bool) -> dict[str, Any]:
    fields = dataclasses.fields(cls)
    compared = _values([field.name for field in fields if field.compare])

    def same(self: object, other: object) -> object:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    methods: dict[str, Any] = {
        "__init__": _first_init(cls, frozen=frozen),
        "__signature__": _Signature(),
        "__repr__": _repr,
        "__eq__": same,
    }
    if frozen:
        hashed = _values([field.name for field in fields if (field.hash, field.compare) in _HASHED])
        methods |= {
            "__setattr__": _frozen_set,
            "__delattr__": _frozen_delete,
            "__getstate__": _state,
            "__setstate__": _set_state,
        }
        if not has_hash:
            methods["__hash__"] = lambda self: hash(hashed(self))
    elif not has_hash:
        methods["__hash__"] = None
    return methods


_HASHED: Final = {(True, True), (True, False), (None, True)}
"""Of `field.hash` and `field.compare`: what stands in the hash."""


def _values(names: list[str]) -> _Values:
    """A quick way to the tuple of these attributes."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    if names:
        single = operator.attrgetter(names[0])
        return lambda self: (single(self),)
    return lambda self: ()  # noqa: ARG005 - one shape for all


def _first_init(cls: type, *, frozen: bool) -> Callable[..., None]:
    """An `__init__` that puts the real one into its place when it is called."""

    def first(self: object, /, *args: object, **kwargs: object) -> None:
        init = _compiled_init(cls, frozen=frozen)
        setattr(cls, "__init__", init)  # noqa: B010 - a type checker would refuse the assignment
        init(self, *args, **kwargs)

    setattr(first, "compiled", lambda: _compiled_init(cls, frozen=frozen))  # noqa: B010 - the same
    return first


def _compiled_init(cls: type, *, frozen: bool) -> Callable[..., None]:
    """The function that the standard decorator would have written."""
    known: dict[str, object] = {"_set": object.__setattr__, "_absent": _ABSENT}
    parameters: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        name, given = field.name, field.name
        has_factory = field.default_factory is not dataclasses.MISSING
        if has_factory:
            known[f"_make_{name}"] = field.default_factory
            given = f"_make_{name}() if {name} is _absent else {name}" if field.init else f"_make_{name}()"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            given = name if field.init else f"_default_{name}"
        elif not field.init:
            continue
        if field.init:
            default = "_absent" if has_factory else f"_default_{name}"
            is_free = has_factory or field.default is not dataclasses.MISSING
            (by_name if field.kw_only else parameters).append(f"{name}={default}" if is_free else name)
        lines.append(f"_set(self, {name!r}, {given})" if frozen else f"self.{name} = {given}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join(["self", *parameters, *(["*", *by_name] if by_name else [])])
    exec("\n    ".join([f"def __init__({head}):", *lines, "return None"]), known)  # noqa: S102 - our own names
    init: Any = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {each.name: each.type for each in dataclasses.fields(cls) if each.init} | {
        "return": None
    }
    return init  # type: ignore[no-any-return]  # what exec makes has no type


class _Signature:
    """What `inspect.signature` of the class tells: that of the real `__init__`, compiled for whoever asks."""

    def __get__(self, _instance: object, cls: type) -> inspect.Signature:
        init: Any = vars(cls)["__init__"]
        told = inspect.signature(init.compiled() if hasattr(init, "compiled") else init)
        return told.replace(parameters=[*told.parameters.values()][1:])


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (field.name for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _frozen_set(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _frozen_delete(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
