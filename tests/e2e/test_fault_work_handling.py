"""Each fault behind a whole answer is seen to fail when its handling is taken out."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from agent_tui_core.agent.approvals import AllowOnce, ApprovalDesk, DenyCall
from agent_tui_core.history import writer as writer_room
from agent_tui_core.hooks import command as hook_room
from agent_tui_core.hooks.contract import HookAnswer
from agent_tui_core.tools import shell as shell_room
from agent_tui_core.tools.registry import ToolRegistry
from fault_dashboard import impatient, work_table
from fault_work import WORK_FAULTS


@dataclass(frozen=True, slots=True)
class Mutation:
    """One handling, taken out, and the rows that have to complain."""

    name: str
    take_out: Callable[[pytest.MonkeyPatch], None]
    rows: tuple[str, ...]


def _broken_hooks_are_silent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hook_room.CommandHook, "broken", lambda *_, **__: "none")


def _hooks_say_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hook_room, "read_answer", lambda *_: HookAnswer())


def _hooks_have_time(patch: pytest.MonkeyPatch) -> None:
    _have_time(patch, hook_room, "run_process")


def _commands_have_time(patch: pytest.MonkeyPatch) -> None:
    _have_time(patch, shell_room, "run_command")


def _have_time(patch: pytest.MonkeyPatch, room: ModuleType, name: str) -> None:
    run = getattr(room, name)

    def patient(*given: Any, **named: Any) -> Any:
        return run(*given, **named | {"timeout": 60.0})

    patch.setattr(room, name, patient)


def _every_answer_is_yes(patch: pytest.MonkeyPatch) -> None:
    answer = ApprovalDesk.answer
    patch.setattr(ApprovalDesk, "answer", lambda desk, key, _: answer(desk, key, AllowOnce()))


def _reasons_are_lost(patch: pytest.MonkeyPatch) -> None:
    answer = ApprovalDesk.answer

    def without(desk: ApprovalDesk, key: str, given: Any) -> int:
        return answer(desk, key, DenyCall() if isinstance(given, DenyCall) else given)

    patch.setattr(ApprovalDesk, "answer", without)


def _history_swallows_errors(patch: pytest.MonkeyPatch) -> None:
    apply = writer_room.Writer._apply

    def swallowing(self: Any, connection: Any, write: Any) -> None:
        with contextlib.suppress(sqlite3.Error):
            apply(self, connection, write)

    patch.setattr(writer_room.Writer, "_apply", swallowing)


def _history_has_no_patience(patch: pytest.MonkeyPatch) -> None:
    init = writer_room.Writer.__init__
    patch.setattr(writer_room.Writer, "__init__", lambda self, path, patience: init(self, path, patience=0.0))


def _pipes_are_files(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stat, "S_ISREG", lambda mode: stat.S_IFMT(mode) != stat.S_IFDIR)


def _any_input_fits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ToolRegistry, "check", lambda *_: None)


_TIMED: Final = ("never ends", "is deaf to TERM", "stops itself", "closes its pipes and stays")
MUTATIONS: Final = (
    Mutation(
        "broken hooks are silent",
        _broken_hooks_are_silent,
        ("says JSON of another shape", "ends by a signal", "hangs", "is not there"),
    ),
    Mutation("hooks say nothing", _hooks_say_nothing, ("denies", "denies in JSON, with escapes")),
    Mutation("hooks have time", _hooks_have_time, ("hangs",)),
    Mutation("commands have time", _commands_have_time, (*_TIMED, "floods both pipes")),
    Mutation(
        "every answer is yes",
        _every_answer_is_yes,
        ("no", "no, because", "no, and stop", "answered twice", "edited to what is denied"),
    ),
    Mutation("reasons are lost", _reasons_are_lost, ("no, because", "no, and stop", "a protected file")),
    Mutation("history swallows errors", _history_swallows_errors, ("writes fail",)),
    Mutation("history has no patience", _history_has_no_patience, ("locked for a moment",)),
    Mutation("pipes are files", _pipes_are_files, ("a pipe in place of a file",)),
    Mutation("any input fits", _any_input_fits, ("arguments of another shape", "no arguments")),
)


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
async def test_a_fault_complains_when_its_handling_is_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    impatient(monkeypatch)
    mutation.take_out(monkeypatch)
    layers = ("hooks",) if "hooks" in mutation.name else ("tools", "approvals", "history", "process")
    silent = []
    for number, name in enumerate(mutation.rows):
        [fault] = [each for each in WORK_FAULTS if each.name == name and each.layer in layers]
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            async with work_table(folder) as (tried, place):
                tried.patience = 2.0
                await tried.meet_work(fault, place)
                complained = bool(tried.complaints)
        except (TimeoutError, AssertionError):
            complained = True
        if not complained:
            silent.append(name)
    assert silent == []
