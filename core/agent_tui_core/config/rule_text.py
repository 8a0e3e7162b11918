"""Owns the grammar of a rule, `Tool` or `Tool(pattern)`; refuses to hold one against a call.

Errors never repeat the text: whoever reads the file says which line it was.
"""

from __future__ import annotations

import re
from typing import Final

from agent_tui_core.gitignore import GitignorePattern
from agent_tui_core.records import dataclass
from agent_tui_core.text import visible_text

LONGEST_RULE: Final = 2_000
FILE_TOOLS: Final = ("Read", "Write", "Edit", "Glob", "Grep")
_RULE: Final = re.compile(r"(?P<tool>[A-Za-z0-9_.\-]+\*?)(?:\((?P<spec>.*)\))?\Z", re.DOTALL)
_PLAIN: Final = re.compile(r"[\w./*?@+, -]+\Z")
_SERVER: Final = re.compile(r"mcp__(?:(?!__)[A-Za-z0-9_\-])+?(?:__\*)?\Z")


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule in its two parts."""

    text: str
    tool: str
    pattern: str | None
    """None covers every call of the tool."""

    @property
    def server(self) -> str | None:
        """The prefix of the tools that a rule on a whole MCP server covers: `mcp__name` or `mcp__name__*`."""
        if not _SERVER.match(self.tool):
            return None
        return f"{self.tool.removesuffix('__*')}__"


def read_rule(text: str) -> RuleText:
    """Take a rule apart; raises ValueError with the remedy when it is none."""
    if len(text) > LONGEST_RULE:
        raise ValueError(f"a rule has at most {LONGEST_RULE} characters")
    found = _RULE.match(text.strip())
    if found is None:
        raise ValueError("this is not a rule; write Tool or Tool(pattern), for example Bash(git status *)")
    tool, pattern = found["tool"], found["spec"]
    if tool.endswith("*") and not _SERVER.match(tool):
        raise ValueError("a star stands inside the brackets, or behind an MCP server: mcp__name__*")
    if pattern is None or pattern.strip() in {"", "*"}:
        return RuleText(text, tool, None)
    if tool in FILE_TOOLS:
        _check_file_pattern(pattern)
    elif tool != "Bash":
        raise ValueError(f"only Bash and the file tools take a pattern; write {visible_text(tool)}")
    return RuleText(text, tool, pattern)


def _check_file_pattern(pattern: str) -> None:
    """A pattern that matches nothing forbids nothing: raise ValueError for what is no single pattern."""
    if pattern.lstrip()[:1] in {"!", "#"}:
        raise ValueError("a file pattern that begins with ! or # matches nothing; write \\! or \\#")
    if "\n" in pattern or not pattern.removeprefix("./").strip("/ "):
        raise ValueError("a file pattern is one line that names something, like Read(src/**)")
    if _PLAIN.match(pattern):  # the import costs more than a start has
        return
    try:
        GitignorePattern(pattern).check()
    except ValueError as error:
        raise ValueError("the file pattern is no gitignore pattern; write it like Read(src/**)") from error
