"""Owns how strictly pydantic takes a value of a settings file; refuses to import pydantic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from agent_tui_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Exactly:
    """Makes pydantic take this very type, within two bounds: no "3" for 3, no 1 for true."""

    at_least: float | None = None
    at_most: float | None = None

    def __get_pydantic_core_schema__(
        self, source: object, handler: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        schema = {**handler(source), "strict": True}
        if self.at_least is not None:
            schema["ge"] = self.at_least
        if self.at_most is not None:
            schema["le"] = self.at_most
        return schema


@dataclass(frozen=True, slots=True)
class OneOf:
    """Makes pydantic take one of these values and no other (1 is not true), and name them when it refuses."""

    values: tuple[str | bool, ...]

    def __get_pydantic_core_schema__(
        self, source: object, handler: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        return {"type": "function-plain", "function": {"type": "no-info", "function": self._checked}}

    def _checked(self, value: object) -> object:
        from pydantic_core import PydanticKnownError

        if any(type(value) is type(known) and value == known for known in self.values):
            return value
        *most, last = (
            f"'{known}'" if isinstance(known, str) else str(known).lower() for known in self.values
        )
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(most)} or {last}"})


Switch: TypeAlias = Annotated[bool, Exactly()]
