"""Owns the corpus of shell attacks and the sandbox that proves them; refuses to judge them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from agent_tui_core.processes.environment import child_environment

MARKER: Final = "pwned"
_CORPUS: Final = Path(__file__).parent / "core" / "agent" / "shell_attacks.toml"
_PAD: Final = "a" * 10_000
_SECONDS: Final = 20
_NOT_EVERYWHERE: Final = frozenset(
    {"vim", "ex", "ssh", "curl", "zip", "node", "npm", "perl", "python3", "make", "git", "gdb", "less", "man"}
    | {"script", "setsid", "flock", "ionice", "taskset", "awk", "rg", "rsync", "tar", "csplit", "install"}
    | {
        "setarch",
        "linux64",
        "setpriv",
        "capsh",
        "gcc",
        "cc",
        "cmake",
        "vimdiff",
        "view",
        "tmux",
        "perf",
        "valgrind",
    }
)


@dataclass(frozen=True, slots=True)
class Attack:
    """One line, what lies about before it, and the rules that it abuses."""

    line: str
    kind: str
    setup: str
    allow: tuple[str, ...]
    needs: tuple[str, ...]
    by_stdin: bool

    @property
    def can_run(self) -> bool:
        """Whether its programs are installed."""
        words = set(re.findall(r"[a-z0-9]+", self.line)) & _NOT_EVERYWHERE
        return all(shutil.which(name) for name in (*self.needs, *words))


@cache
def attacks() -> tuple[Attack, ...]:
    """The corpus."""
    data = tomllib.loads(_CORPUS.read_text(encoding="utf-8"))
    return tuple(
        Attack(
            line.replace("{pad}", _PAD),
            group["kind"],
            group.get("setup", ""),
            (*data["allow"], *group.get("allow", ())),
            tuple(group.get("needs", ())),
            group.get("via") == "stdin",
        )
        for group in data["attacks"]
        for line in group["lines"]
    )


def creates_marker(attack: Attack, line: str, folder: Path) -> bool:
    """Run a line in a folder where the attack was prepared; say whether its payload ran."""
    by_stdin = attack.by_stdin or "\0" in line
    script = f'bash -c "$1" >/dev/null 2>&1; test ! -e {MARKER} || exit 99; shift; exec bash "$@"'
    argv = [*_sandbox(folder), "bash", "-c", script, "attack", attack.setup or "true"]
    given = child_environment(os.environ).items()  # but with what repositories say that git shall run
    environment = {name: value for name, value in given if not name.startswith("GIT_CONFIG")} | {
        "HOME": str(folder),
        "PATH": "/usr/bin:/bin:" + os.environ["PATH"],
    }
    try:
        done = subprocess.run(
            argv if by_stdin else [*argv, "-c", line],
            cwd=folder,
            env=environment,
            input=line.encode(errors="surrogateescape") if by_stdin else b"",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return os.path.lexists(folder / MARKER)
    assert done.returncode != 99, f"the setup of {attack.line!r} makes the marker itself"
    return os.path.lexists(folder / MARKER)


def prepare(attack: Attack, folder: Path) -> None:
    """Only lay out what lies about before the attack: what the rules may look at."""
    creates_marker(attack, "true", folder)


@cache
def _bwrap() -> str | None:
    """The sandbox, where it is there and allowed to work."""
    found = shutil.which("bwrap")
    argv = [found or "", "--ro-bind", "/", "/", "--unshare-all", "true"]
    return found if found and subprocess.run(argv, check=False, capture_output=True).returncode == 0 else None


def sandboxed() -> bool:
    """Whether attacks can be run at all: a few of them would reach beyond their folder."""
    return _bwrap() is not None


def _sandbox(folder: Path) -> list[str]:
    bwrap = _bwrap()
    assert bwrap is not None
    place = str(folder)
    base = [
        bwrap,
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--unshare-all",
        "--die-with-parent",
    ]
    return [*base, "--bind", place, place, "--chdir", place]
