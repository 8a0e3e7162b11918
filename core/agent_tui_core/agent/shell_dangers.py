"""Owns which words make a program run another one, change its shell, or write where nobody looks.

It refuses to allow: a rule with a `*` covers such a command only as far as the rule spells those words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, TypeAlias

import msgspec

from agent_tui_core.agent.git_dangers import GitTable, git_danger
from agent_tui_core.agent.readonly_options import read_data
from agent_tui_core.agent.text_programs import awk_does_more, sed_is_plain
from agent_tui_core.records import dataclass

EVERY_WORD: Final = 1_000_000
"""Only a rule without `*` spells that many."""


@dataclass(frozen=True, slots=True)
class Danger:
    """Why a command is more than it looks."""

    reason: str
    spelled: int = EVERY_WORD
    """How many words in front a rule has to spell out to cover it all the same."""


class _Options(msgspec.Struct, forbid_unknown_fields=True):
    letters: str
    names: str = ""


class _Subcommands(msgspec.Struct, forbid_unknown_fields=True):
    runs: str
    tells: str


class _Git(msgspec.Struct, forbid_unknown_fields=True):
    global_options: str
    known: str
    names: str
    harmless: str
    remote: str
    letters: dict[str, str]
    nested: dict[str, str]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    shells: str
    wrappers: str
    runners: str
    takes_a_word: str
    runs_after: dict[str, str]
    always: dict[str, str]
    interpreters: dict[str, str]
    options: dict[str, _Options]
    subcommands: dict[str, _Subcommands]
    git: _Git


@dataclass(frozen=True, slots=True)
class Table:
    """What `shell_data/dangers.toml` says."""

    runs_next: frozenset[str]
    runners: frozenset[str]
    takes_a_word: frozenset[str]
    runs_after: Mapping[str, frozenset[str]]
    always: Mapping[str, str]
    interpreters: Mapping[str, frozenset[str]]
    options: Mapping[str, tuple[str, tuple[str, ...]]]
    subcommands: Mapping[str, tuple[frozenset[str], frozenset[str]]]
    """Those that run something, and those that only tell something."""
    git: GitTable


@cache
def table() -> Table:
    """The table, read once."""
    data = msgspec.convert(read_data("dangers"), _File)
    git = data.git
    runs_next = frozenset(data.shells.split()) | frozenset(data.wrappers.split())
    return Table(
        runs_next=runs_next,
        runners=runs_next | frozenset(data.runners.split()),
        takes_a_word=frozenset(data.takes_a_word.split()),
        runs_after={name: frozenset(words.split()) for name, words in data.runs_after.items()},
        always={name: reason for reason, names in data.always.items() for name in names.split()},
        interpreters={name: frozenset(letters) for name, letters in data.interpreters.items()},
        options={
            name: (each.letters, tuple(each.names.split()))
            for names, each in data.options.items()
            for name in names.split()
        },
        subcommands={
            name: (frozenset(each.runs.split()), frozenset(each.tells.split()))
            for name, each in data.subcommands.items()
        },
        git=GitTable(
            frozenset(git.global_options.split()),
            frozenset(git.known.split()),
            tuple(git.names.split()),
            frozenset(git.harmless.split()),
            frozenset(git.remote.split()),
            {name: frozenset(letters) for name, letters in git.letters.items()},
            {name: frozenset(words.split()) for name, words in git.nested.items()},
        ),
    )


_LOADER: Final = re.compile(r"ld(?:-[\w.-]+)?\.so(?:\.\d+)?\Z")
"""The program that starts all others, by any of its names."""
_CMAKE_RUNS: Final = re.compile(
    r"-[EPC]|--(?:open|toolchain|debugger|trace-redirect|graphviz|profiling-output)"
    r"|-D.*(?:COMPILER|LAUNCHER|PROGRAM|TOOLCHAIN|INCLUDE|LINKER|COMMAND|EXECUTABLE|EMULATOR)"
)
_FIND: Final = re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)\Z")
_PRINTF_SETS: Final = re.compile(r"%[^%a-zA-Z]*[hjlLtz]*n")
_INDEX_RUNS: Final = frozenset({"printf", "test", "["})
_Check: TypeAlias = Callable[[tuple[str, ...]], Danger | None]


def danger(argv: tuple[str, ...]) -> Danger | None:
    """What makes a command more than its name says; None when nothing is known against it."""
    program = argv[0].rpartition("/")[2]
    if program == "command" and argv[1:2] in {("-v",), ("-V",)}:
        return None
    if reason := table().always.get(program):
        return Danger(f"{program} {reason}")
    if program in table().runs_next or _LOADER.match(program):
        at = 2 if program in table().takes_a_word else 1
        options = any(word.startswith(("-", "+")) or "=" in word for word in argv[1 : at + 1])
        inner = danger(argv[at:]) if len(argv) > at and not options else None
        return Danger(f"{program} runs another program", EVERY_WORD if options or inner else at + 1)
    if program in table().subcommands:
        return _subcommand(program, argv)
    if program in _INDEX_RUNS and any("[" in word and ("$" in word or "`" in word) for word in argv[1:]):
        return Danger(f"{program} would evaluate the index of an array")
    if program == "printf" and any(word.startswith("-v") or _PRINTF_SETS.search(word) for word in argv[1:]):
        return Danger("printf would set a variable")
    name = re.sub(r"[0-9.]+\Z", "", program)
    if name in table().interpreters:
        return _interpreter(name, argv)
    if check := _CHECKS.get(name) or _CHECKS.get(_without_version(program)):
        return check(argv)
    return _listed(name, argv)


def bad_option(words: Iterable[str], short: Iterable[str], long: Iterable[str]) -> str | None:
    """The first word that is one of these options, abbreviated, bundled or with its value."""
    letters, names = frozenset(short), tuple(long)
    for word in words:
        if word.startswith("+") and "+" in letters:
            return word
        name = word.partition("=")[0].lstrip("-")
        long_enough = len(name) > (0 if word.startswith("--") else 1)
        if word.startswith("-") and long_enough and any(each.startswith(name) for each in names):
            return word
        if word.startswith("-") and not word.startswith("--") and letters & set(word[1:]):
            return word
    return None


def _subcommand(program: str, argv: tuple[str, ...]) -> Danger | None:
    """Options may stand before the subcommand, with values of their own: any word may be it."""
    runs, tells = table().subcommands[program]
    if met := next((word for word in argv[1:] if word.partition("=")[0] in runs), None):
        return Danger(f"{program} {met} can run a program")
    at = next((at for at, word in enumerate(argv) if at and not word.startswith("-")), None)
    if at is None:
        first = argv[1] if len(argv) > 1 else ""
        return None if first in tells | {"--version", "--help"} else Danger(f"{program} may run a program")
    if at == 1 and argv[1] in tells:
        return None
    return Danger(f"{program} {argv[at]} may run a program", EVERY_WORD if at > 1 else 2)


def _listed(name: str, argv: tuple[str, ...]) -> Danger | None:
    return _option(argv, *table().options[name]) if name in table().options else None


def _option(argv: tuple[str, ...], short: str, long: tuple[str, ...]) -> Danger | None:
    found = bad_option(argv[1:], short, long)
    return Danger(f"{argv[0]} {found} can run a program or write elsewhere") if found else None


def _interpreter(name: str, argv: tuple[str, ...]) -> Danger | None:
    """Options before the script belong to the interpreter, those behind it to the script."""
    for index, word in enumerate(argv[1:], 1):
        if name in {"python", "pypy"} and word == "-m":
            return Danger(f"{argv[0]} -m runs a module", index + 1)
        if word == "-" or word.startswith(("/dev/", "/proc/")):
            break
        if not word.startswith("-"):
            return None
        text = frozenset(word[1:]) & table().interpreters[name] if not word.startswith("--") else True
        if text and word not in {"--version", "--help"}:
            return Danger(f"{argv[0]} {word} runs text as a program")
    if all(word in {"--version", "-V", "-v", "--help", "-h"} for word in argv[1:]) and len(argv) > 1:
        return None
    return Danger(f"{argv[0]} runs what it reads")


def _find(argv: tuple[str, ...]) -> Danger | None:
    found = next((word for word in argv[1:] if _FIND.match(word)), None)
    return Danger(f"find {found} runs a program, deletes or writes") if found else None


def _fd(argv: tuple[str, ...]) -> Danger | None:
    return _option(argv, "xX", ("exec", "exec-batch"))


def _awk(argv: tuple[str, ...]) -> Danger | None:
    rest = iter(argv[1:])
    for word in rest:
        if word in {"-F", "-v"}:
            next(rest, None)
        elif re.match(r"-[Fv].", word):
            continue
        elif word.startswith("-"):
            return Danger(f"awk {word} may load a program")
        elif awk_does_more(word):
            return Danger("the awk program may run a command or write")
    return None


def _sed(argv: tuple[str, ...]) -> Danger | None:
    return None if sed_is_plain(argv) is not None else Danger("the sed script may run a command or write")


def _uniq(argv: tuple[str, ...]) -> Danger | None:
    names = [word for word in argv[1:] if not word.startswith(("-", "+")) and not word.isdecimal()]
    return Danger("uniq writes to its second file") if len(names) > 1 else None


def _make(argv: tuple[str, ...]) -> Danger | None:
    if any("=" in word and not word.startswith("-") for word in argv[1:]):
        return Danger("make may run what a variable says")
    return _listed("make", argv)


def _tar(argv: tuple[str, ...]) -> Danger | None:
    bundle = ("-" + argv[1],) if len(argv) > 1 and not argv[1].startswith("-") else ()
    short, long = table().options["tar"]
    found = bad_option((*bundle, *argv[1:]), short, long)
    return Danger(f"tar {found} can run a program or write elsewhere") if found else None


def _go(argv: tuple[str, ...]) -> Danger | None:
    return _listed("go", tuple(re.sub(r"\A-(?=[a-z]{2})", "--", word) for word in argv))


def _npm(argv: tuple[str, ...]) -> Danger | None:
    """What stands behind `--` goes to the script."""
    ours = argv[: argv.index("--")] if "--" in argv else argv
    if len(argv) > 1 and argv[1] in {"exec", "x", "explore", "config", "set", "edit", "c"}:
        return Danger(f"{argv[0]} {argv[1]} runs what it is told", 3)
    # npm takes `--C` for `-C`.
    single = tuple(re.sub(r"\A--(?=[A-Za-z](?:=|\Z))", "-", word) for word in ours)
    return _listed(argv[0].rpartition("/")[2], single)


def _compiler(argv: tuple[str, ...]) -> Danger | None:
    if found := next((word for word in argv[1:] if "@" in word[:1] or word.startswith("-Wl,@")), None):
        return Danger(f"{argv[0]} reads more options from {found}")
    name = _without_version(argv[0].rpartition("/")[2])
    # These take their long options with one dash or two.
    double = tuple(re.sub(r"\A-(?=[A-Za-z][A-Za-z,-]{2})", "--", word) for word in argv)
    return _listed(name, (*argv, *double))


def _without_version(name: str) -> str:
    """`gcc-12` and `x86_64-linux-gnu-gcc` are `gcc`."""
    return re.sub(r"\A.*-(?=[a-z])|-?[0-9.]*\Z", "", name)


def _cmake(argv: tuple[str, ...]) -> Danger | None:
    """A build runs what the folder says, as `make` does; `-E` and `-P` run what the line says."""
    if found := next((word for word in argv[1:] if _CMAKE_RUNS.match(word)), None):
        return Danger(f"cmake {found} can run a program")
    return Danger("cmake hands options to the program that builds") if "--" in argv else None


def _yarn(argv: tuple[str, ...]) -> Danger | None:
    if found := next(
        (word for word in argv[1:3] if word in {"workspace", "workspaces", "dlx", "node"}), None
    ):
        return Danger(f"{argv[0]} {found} runs what it is told", 4)
    return _npm(argv)


def _git(argv: tuple[str, ...]) -> Danger | None:
    reason = git_danger(argv, table().git)
    return Danger(reason) if reason else None


_CHECKS: Final[Mapping[str, _Check]] = {
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "sed": _sed,
    "gsed": _sed,
    "uniq": _uniq,
    "make": _make,
    "gmake": _make,
    "tar": _tar,
    "gtar": _tar,
    "go": _go,
    "npm": _npm,
    "pnpm": _npm,
    "yarn": _yarn,
    "git": _git,
    "cmake": _cmake,
    **dict.fromkeys(
        (
            "gcc",
            "g++",
            "cc",
            "c++",
            "c89",
            "c99",
            "clang",
            "clang++",
            "cpp",
            "gfortran",
            "ld",
            "tcc",
            "rustc",
        ),
        _compiler,
    ),
    **dict.fromkeys(("javac", "ghc", "swiftc", "nvcc", "icc", "ar", "objcopy", "strip"), _compiler),
}
