"""Judges a file of commands, one JSON verdict a line, so that a team can keep a corpus of its own.

A line is a command, or a JSON object: `{"command": …}` or `{"tool": …, "input": {…}}`. With `"expect"` a
verdict is expected. A file may be one JSON list of such objects, too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

import click
import msgspec

from agent_tui_core.agent.judgement import Behavior, Judgement
from agent_tui_core.blocks import JsonObject

JudgesCall = Callable[[str, JsonObject], Judgement]


class Verdict(msgspec.Struct, omit_defaults=True):
    """What is printed of one line."""

    line: str
    verdict: Behavior
    reason: str
    part: str | None
    rule: str | None
    expect: Behavior | None = None
    as_expected: bool | None = None


class _Line(msgspec.Struct):
    command: str | None = None
    tool: str = "Bash"
    input: dict[str, Any] | None = None
    expect: Behavior | None = None


_NEITHER: Final = 'say {"command": "…"} or {"tool": "…", "input": {…}}, and "expect" as allow, ask or deny'


def judge_batch(source: TextIO, judge: JudgesCall) -> int:
    """Print a verdict for each line; return 0, 1 where one was not expected, 2 where one cannot be read."""
    counts: Counter[str] = Counter()
    otherwise = unreadable = 0
    for number, text in _lines(source):
        if not text.strip():
            continue
        try:
            line = _read(text)
        except ValueError as error:
            unreadable += 1
            click.echo(f"line {number}: {error}; {_NEITHER}", err=True)
            continue
        call: JsonObject = dict(line.input) if line.input is not None else {"command": line.command}
        judged = judge(line.tool, call)
        counts[judged.behavior] += 1
        fits = None if line.expect is None else judged.behavior == line.expect
        otherwise += fits is False
        shown = line.command if line.command is not None else json.dumps(call, ensure_ascii=False)
        verdict = Verdict(
            shown, judged.behavior, judged.reason, judged.part or None, judged.rule, line.expect, fits
        )
        click.echo(msgspec.json.encode(verdict))
    told = ", ".join(f"{counts[behavior]} {behavior}" for behavior in ("allow", "ask", "deny"))
    more = (f"; {otherwise} not as expected" if otherwise else "") + (
        f"; {unreadable} not read" if unreadable else ""
    )
    click.echo(f"{sum(counts.values())} judged: {told}{more}", err=True)
    return 2 if unreadable else int(otherwise > 0)


def _lines(source: TextIO) -> Iterator[tuple[int, str]]:
    first = source.readline()
    if first.lstrip().startswith("["):
        rest = first + source.read()
        try:
            listed = json.loads(rest)
        except ValueError:
            yield from enumerate(rest.split("\n"), 1)
            return
        yield from ((number, json.dumps(each)) for number, each in enumerate(listed, 1))
        return
    yield 1, first
    yield from enumerate(source, 2)


def _read(text: str) -> _Line:
    """Read one line; raises ValueError."""
    plain = text.rstrip("\n")
    if not plain.lstrip().startswith(("{", '"')):
        return _Line(plain)
    try:
        found = json.loads(plain)
    except ValueError:
        return _Line(plain)  # `{ ls; }` is a command
    if isinstance(found, str):
        return _Line(found)
    try:
        line = msgspec.convert(found, _Line)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    if (line.command is None) == (line.input is None):
        raise ValueError("it says no command, or two")
    return line
