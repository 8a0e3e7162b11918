"""Owns what a person makes of a call's input before it is allowed; refuses input that is no JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping

from agent_tui_core.blocks import JsonObject
from agent_tui_core.events import ApprovalRequest
from agent_tui_core.text import visible_text

_MOST_CHARACTERS = 50_000


class EditedInput:
    """The text in the editor: the command itself where the call is one, else the whole input as JSON."""

    def __init__(self, request: ApprovalRequest) -> None:
        self._input = request.input
        command = request.input.get("command")
        small = _is_small(request.input)
        # A command that holds what cannot be seen is edited as JSON, where ASCII escapes show it.
        self.is_command = (
            small
            and request.preview.kind == "command"
            and isinstance(command, str)
            and visible_text(command) == command
        )
        self._original = str(command) if self.is_command else _as_json(request.input) if small else ""
        self.possible = small and len(self._original) <= _MOST_CHARACTERS
        """Whether it is small enough to be edited in a terminal."""
        self.text = self._original
        self.error = ""
        """Why the text cannot run; empty when it can."""

    @property
    def changed(self) -> bool:
        """Whether the person changed anything."""
        return self.text != self._original

    @property
    def what(self) -> str:
        """What is edited, in a word."""
        return "command" if self.is_command else "JSON"

    def write(self, text: str) -> None:
        """Take the text as it is now, valid or not; `error` says why it cannot run."""
        self.text = text
        self.error = ""
        if not self.is_command:
            try:
                self.input()
            except ValueError as error:
                self.error = f"The input is not valid: {error}. e edits it again"
        elif not text.strip():
            self.error = "The command is empty. e edits it again"

    def input(self) -> JsonObject:
        """The input that would run. Raises ValueError when the text is no JSON object."""
        if self.is_command:
            return {**self._input, "command": self.text}
        try:
            parsed = json.loads(self.text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{error.msg} in line {error.lineno}, column {error.colno}") from error
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        if not isinstance(parsed, dict):
            raise ValueError("it must be a JSON object: {…}")
        return parsed


def _is_small(value: object) -> bool:
    """Whether as JSON it might be small enough, found out without writing a large one."""
    left, waiting = _MOST_CHARACTERS, [value]
    while waiting and left >= 0:
        match each := waiting.pop():
            case str():
                left -= len(each)
            case Mapping():
                left -= 2 * len(each)
                if left >= 0:
                    waiting += (*each, *each.values())
            case list() | tuple():
                left -= 2 * len(each)
                if left >= 0:
                    waiting += each
            case _:
                left -= 1
    return left >= 0


def _as_json(value: JsonObject) -> str:
    readable = json.dumps(value, indent=2, ensure_ascii=False, default=dict)
    return readable if visible_text(readable) == readable else json.dumps(value, indent=2, default=dict)
