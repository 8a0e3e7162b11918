"""Owns how a place in a settings file and a wrong name are told; refuses to know what is wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Final, NoReturn, TypeAlias

from agent_tui_core.errors import ConfigError
from agent_tui_core.records import dataclass
from agent_tui_core.text import safe_line

Loc: TypeAlias = tuple[int | str, ...]

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Place:
    """A key of a file, to complain about."""

    file: str
    loc: Loc = ()

    def at(self, *more: int | str) -> Place:
        """A key below this one."""
        return Place(self.file, (*self.loc, *more))

    def refuse(self, message: str) -> NoReturn:
        """Raise `ConfigError` about this key."""
        raise ConfigError(message, file=self.file, key=dotted(self.loc))


def nearest(wrong: str, right: Collection[str]) -> str:
    """What to say after an unknown name: the nearest right one, or all of them."""
    close = difflib.get_close_matches(wrong, right, n=1, cutoff=0.6)
    if not close:
        folded = {name.casefold(): name for name in right}
        close = [folded[wrong.casefold()]] if wrong.casefold() in folded else []
    if close:
        return f"did you mean {quoted(close[0])}?"
    return "it may be " + ", ".join(quoted(name) for name in right) if right else "none is defined"


def dotted(loc: Iterable[int | str]) -> str:
    """A place in a TOML file as a person writes it: `agents.reviewer.tools[2]`."""
    key = ""
    for part in loc:
        if isinstance(part, int):
            key += f"[{part + 1}]"
        else:
            key += ("." if key else "") + (part if _BARE.fullmatch(part) else f'"{safe_line(part)}"')
    return key


def quoted(name: str) -> str:
    """A foreign name in a message."""
    return f"'{safe_line(name)}'"
