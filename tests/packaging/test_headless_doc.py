"""docs/headless.md says what is so: each line, each order, each exit code; and nothing draws on that path."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from agent_tui_core.agent.policy import read_policy
from agent_tui_core.events import Body
from agent_tui_core.runtime import headless
from agent_tui_core.runtime.orders import ALIASES, KINDS, OLD_NAMES, read_order
from agent_tui_core.runtime.verbs import VERBS
from headless_program import environment
from headless_schema import DOC, HEAD, documented

ROOT = Path(__file__).parents[2]


def test_every_event_is_documented_with_its_fields() -> None:
    written = {body.__name__: tuple(field.name for field in fields(body)) for body in get_args(Body)}
    assert documented("Lines of an agent") == written


def test_the_head_of_every_line_is_documented() -> None:
    assert tuple(documented("Every line")) == HEAD


def test_every_order_is_documented_with_its_fields() -> None:
    kinds = {**VERBS, **{old: VERBS[new] for old, new in OLD_NAMES.items()}, **ALIASES}
    written = {
        name: tuple(sorted(field.encode_name for field in msgspec.structs.fields(kind)))
        for name, kind in kinds.items()
    }
    tables = documented("Input") | documented("Older names")
    shown = {kind: tuple(sorted(names)) for kind, names in tables.items()}
    assert shown == written
    assert tuple(shown) == KINDS


def test_the_example_orders_are_understood() -> None:
    [block] = re.findall(r"```json\n(.*?)```", DOC, re.DOTALL)
    orders = [read_order(line.encode()) for line in block.splitlines()]
    assert len(orders) == 4


def test_the_exit_codes_are_documented() -> None:
    shown = set(map(int, re.findall(r"^\| (\d+) \|", DOC, re.MULTILINE)))
    assert shown == {0, headless.EXIT_FAILED, 2, headless.EXIT_LIMIT, headless.EXIT_INTERRUPTED}


def test_the_policies_of_the_document_are_policies() -> None:
    section = DOC.partition("## What may run")[2].partition("## Output")[0]
    for cell in re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)[1:]:
        read_policy([said.strip('"') for said in re.findall(r"`([^`]+)`", cell)])


@pytest.mark.parametrize("word", ["run", "sessions", "export"])
def test_no_command_without_a_screen_imports_what_draws(word: str, tmp_path: Path) -> None:
    arguments = {
        "run": ["run", "--demo", "-n", "1", "hello"],
        "sessions": ["sessions"],
        "export": ["export", "newest"],
    }[word]
    script = f"""
import sys
from agent_tui.cli import run
code = run({arguments!r})
drawing = sorted({{"textual", "rich"}} & sys.modules.keys())
sys.exit(f"imports {{drawing}}" if drawing else code)
"""
    if word == "export":
        command = [sys.executable, "-m", "agent_tui", "run", "--demo", "-n", "1", "hello"]
        subprocess.run(command, env=environment(tmp_path), capture_output=True, check=True, timeout=30)
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(tmp_path), capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
