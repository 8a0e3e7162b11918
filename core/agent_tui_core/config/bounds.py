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


Switch: TypeAlias = Annotated[bool, Exactly()]
