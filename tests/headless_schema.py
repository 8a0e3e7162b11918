"""The tables of docs/headless.md, read as a schema; refuses a line that is not as documented."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

DOC = (Path(__file__).parents[1] / "docs" / "headless.md").read_text(encoding="utf-8")
HEAD = ("type", "agent_id", "run_id", "seq", "at")


@cache
def documented(title: str) -> dict[str, tuple[str, ...]]:
    """The types in the table under this title, each with its fields."""
    _, found, rest = DOC.partition(f"### {title}\n" if f"### {title}\n" in DOC else f"## {title}\n")
    assert found, title
    section = re.split(r"^##", rest, maxsplit=1, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|", section, re.MULTILINE)
    return {name: tuple(re.findall(r"`(\w+)`\??", fields)) for name, fields in rows}


def check_line(line: dict[str, Any]) -> None:
    """Raise AssertionError when the line is not one of the documented."""
    assert tuple(line)[:5] == HEAD
    table = documented("Lines of the session" if line["agent_id"] is None else "Lines of an agent")
    assert tuple(line)[5:] == table[line["type"]]
    assert isinstance(line["seq"], int)
    assert isinstance(line["at"], float)
    assert line["run_id"] is None or isinstance(line["run_id"], str)
