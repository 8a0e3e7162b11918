"""Owns what "always" would save for a call: the narrowest rule that covers it; refuses to save it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agent_tui_core.agent.path_rules import EDITORS, PATH_KEYS, PathRule, call_paths, is_protected
from agent_tui_core.agent.permissions import Permissions
from agent_tui_core.agent.rule import parse_rule
from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_rules import escape_command
from agent_tui_core.agent.shell_words import Unreadable
from agent_tui_core.blocks import JsonObject
from agent_tui_core.text import safe_line, visible_text
from agent_tui_core.tools.paths import inside

LONGEST_REMEMBERED: Final = 400


def suggest_rule(
    tool: str, input: JsonObject, *, cwd: Path, permissions: Permissions | None = None
) -> str | None:
    """The narrowest rule that "always" would save for this call; None when it cannot be remembered safely.

    Of a command line that is the one part that nothing allows yet.
    """
    if tool == "Bash":
        command = input.get("command")
        return (
            _suggest_command(command, cwd, permissions or Permissions()) if isinstance(command, str) else None
        )
    if tool not in PATH_KEYS:
        return tool
    paths = call_paths(tool, input, cwd)
    if len(paths) != 1 or not inside(paths[0], cwd) or is_protected(paths, cwd):
        return None
    return PathRule.exactly("Edit" if tool in EDITORS else "Read", paths[0], cwd)


def remembering_problem(
    rule: str, tool: str, input: JsonObject, *, cwd: Path, permissions: Permissions
) -> str | None:
    """Why this rule, written by a person, cannot be saved for this call; None when it can.

    It has to be a rule, to be seen whole, and to cover the call that it was written for.
    """
    if len(rule) > LONGEST_REMEMBERED:
        return f"a remembered rule has at most {LONGEST_REMEMBERED} characters"
    if visible_text(rule) != rule or safe_line(rule) != rule:
        return "a rule is one line without invisible characters"
    try:
        parsed = parse_rule(rule)
    except ValueError as error:
        return str(error)
    if parsed.spec is None and parsed.tool == "Bash":
        return "Bash without a pattern covers every command; write Bash(…)"
    if not permissions.would_allow(rule, tool, input, cwd=cwd):
        return f"this rule does not cover the call; {_nearest(tool)}"
    return None


def _nearest(tool: str) -> str:
    return "begin with its command, and put * behind it" if tool == "Bash" else f"name {tool} and its file"


def _suggest_command(command: str, cwd: Path, permissions: Permissions) -> str | None:
    line = command.strip(" \t\n")
    if len(line) > LONGEST_REMEMBERED:
        return None
    read = parse(line)
    if isinstance(read, Unreadable):
        rule: str | None = None if "\n" in line else f"Bash({escape_command(line)})"
    else:
        found = permissions.open_parts(line, cwd=cwd)
        if len(found) != 1:
            return None
        if found[0].tool == "Bash":
            rule = f"Bash({escape_command(found[0].text)})"
        else:
            rule = suggest_rule(found[0].tool, {"file_path": found[0].text}, cwd=cwd)
    if rule is None or not permissions.would_allow(rule, "Bash", {"command": command}, cwd=cwd):
        return None
    return rule
