"""Owns one rule: what it is made from and which calls it covers; refuses to know its list and its layer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from agent_tui_core.agent.path_rules import COVERED, PATH_KEYS, PathRule, call_paths
from agent_tui_core.agent.shell_rules import ShellRule
from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.rule_text import read_rule
from agent_tui_core.records import dataclass
from agent_tui_core.tools.paths import inside

_QUOTES: Final = re.compile(r"[\"'\\]")
_WORDS: Final = re.compile(r"[\s;&|<>(){}=]+")
_LONGEST_LOOKED_AT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Rule:
    """`Tool` or `Tool(pattern)`, ready to be held against calls."""

    text: str
    tool: str
    spec: ShellRule | PathRule | None
    server: str | None = None
    """What the names of a server's tools begin with, when all of them are covered."""

    def covers(self, tool: str, input: JsonObject, cwd: Path, base: Path, *, widely: bool) -> bool:
        """`widely` when a match forbids. A command line that is no rule itself is allowed by its parts.

        Patterns of files are counted from `base`, the input from `cwd`.
        """
        match self.spec:
            case None:
                if not self._covers_tool(tool):
                    return False
                if widely or tool not in PATH_KEYS:
                    return True
                # Without a pattern a rule on files allows what is in the workspace.
                return all(inside(path, cwd) for path in call_paths(tool, input, cwd))
            case ShellRule() as spec:
                command = input.get("command")
                if tool != self.tool or not isinstance(command, str):
                    return False
                return spec.touched(command) is not None if widely else spec.is_line(command)
            case PathRule() as spec:
                if widely and tool == "Bash":
                    return any(spec.covers((path,), base, widely=True) for path in self._touched(input, cwd))
                return tool in spec.tools and spec.covers(call_paths(tool, input, cwd), base, widely=widely)

    def _covers_tool(self, tool: str) -> bool:
        if self.server is not None:
            return tool.startswith(self.server)
        return tool in COVERED.get(self.tool, (self.tool,))

    def _touched(self, input: JsonObject, cwd: Path) -> Iterator[Path]:
        """The existing files that the words of a command name: `cat` may not read what Read may not."""
        command = input.get("command")
        if self.tool != "Read" or not isinstance(command, str):
            return
        for word in dict.fromkeys(_WORDS.split(_QUOTES.sub("", command[:_LONGEST_LOOKED_AT]))):
            with suppress(OSError, ValueError, RuntimeError):
                path = cwd / Path(word).expanduser()
                if word and path.is_file():
                    yield from {Path(os.path.normpath(path)), path.resolve()}


def parse_rule(text: str) -> Rule:
    """Read a rule; raises ValueError with the remedy when it is none."""
    read = read_rule(text)
    if read.pattern is None:
        return Rule(text, read.tool, None, read.server)
    if read.tool == "Bash":
        return Rule(text, read.tool, ShellRule(read.pattern))
    return Rule(text, read.tool, PathRule(read.tool, read.pattern))
