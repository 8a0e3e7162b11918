"""Which commands only read, and what they read: by what a command does, not by its first word.

It answers None by default: an option that is not listed, an abbreviated one, a program named by a path. The
rules on files say whether the files that it names, and those below the folders that it names, may be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, TypeAlias

from agent_tui_core.agent import readonly_programs as programs
from agent_tui_core.agent.readonly_options import MANY, read_only, read_options
from agent_tui_core.agent.readonly_programs import Reading
from agent_tui_core.agent.shell_dangers import danger
from agent_tui_core.agent.shell_parts import Part
from agent_tui_core.agent.shell_rules import could_become_an_option
from agent_tui_core.agent.shell_words import Word
from agent_tui_core.records import dataclass
from agent_tui_core.tools.names_below import Below

_LITERAL: Final = frozenset({"find", "sed", "gsed", "date", "command", "xargs"})
"""Here another file name changes what a word means."""
_ACTIONS: Final = frozenset({"-exec", "-print", "-print0", "-printf", "-ls"})
"""What stands behind one of them no longer decides over it."""
_PRUNED: Final = re.compile(r"(\./|\*/)([\w.-]+)/\*{1,2}\Z")
_GREPS: Final = ("grep", "egrep", "fgrep")
_NAMES_ONLY: Final = frozenset(
    {"ls", "dir", "vdir", "stat", "basename", "dirname", "echo", "du", "realpath", "file"}
)
_GREP_LINES: Final = frozenset([f"-{letter}" for letter in "viyEFGPewxasm"]) | frozenset(
    {"--invert-match", "--ignore-case", "--extended-regexp", "--fixed-strings", "--perl-regexp", "--regexp"}
)
_FILTERS: Final = {
    "head": frozenset({"-n", "--lines", *(f"-{digit}" for digit in range(10))}),
    "tail": frozenset({"-n", "--lines", *(f"-{digit}" for digit in range(10))}),
    "sort": frozenset({"--reverse", "--unique", *(f"-{letter}" for letter in "bdfhknrtuV")}),
    "uniq": frozenset({"-d", "-i", "-u"}),
    **dict.fromkeys(_GREPS, _GREP_LINES),
}
"""They pass on whole lines of what they read, with no more than these options, and write no others."""
_TRACKED: Final = frozenset(
    {"-c", "--cached", "-m", "--modified", "-d", "--deleted", "-z", "--exclude-standard"}
)
"""With these `git ls-files` writes names that git's index holds, and nothing beside them."""
_APART: Final = re.compile(r"[\s'\"\\]")
"""Where xargs takes a name apart."""
_VERSIONS: Final = frozenset({"--version", "-V", "-version"})


_Reader: TypeAlias = Callable[[Part], "Reading | None"]


def reading(part: Part) -> Reading | None:
    """What a read-only command reads; None when it is none.

    `cd` is not among them: whoever reads a whole line has to follow it.
    """
    name, *rest = part.argv
    if name in read_only().versions and len(rest) == 1 and rest[0] in _VERSIONS:
        return Reading()
    if check := _SPECIAL.get(name):
        found = check(part)
    elif shape := read_only().programs.get(name):
        options = read_options(shape, tuple(rest))
        if options is None or (shape.most < MANY and any(word.stars for word in part.command)):
            return None
        found = programs.usual(options)
    else:
        return None
    if found is None or (name == "printf" and danger(part.argv)):
        return None
    return found if all(_is_certain(word, name, found) for word in part.command) else None


def _is_certain(word: Word, name: str, found: Reading) -> bool:
    if not word.stars:
        return True
    leads = could_become_an_option(word) and name not in read_only().any_names
    named = word.text in found.files or name == "echo"
    return not leads and not word.tilde and named and name not in _LITERAL


# --- readers of whole folders


def _grep(part: Part) -> Reading | None:
    options = programs.listed("grep", part.argv[1:])
    if options is None:
        return None
    found = programs.usual(options)
    if not options.has("-r", "-R", "--recursive", "--dereference-recursive"):
        return found
    named = [file for file in options.files if file not in options.values("-f", "--file")]
    only, but = options.values("--include"), options.values("--exclude")
    if only and but:  # the last that fits decides: what one leaves out, the other may take in again
        only, but = (), ()
    below = tuple(
        Below(
            folder,
            only=_widely(only),
            but=_narrowly(but),
            but_folders=_narrowly(value.rstrip("/") for value in options.values("--exclude-dir")),
            links=options.has("-R", "--dereference-recursive"),
        )
        for folder in named or ["."]
    )
    return replace(found, files=tuple(options.files) if named else (*options.files, "."), below=below)


def _widely(patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns of names as Python matches them; none, which is every name, where programs read them apart."""
    found = tuple(patterns)
    return () if any(set(pattern) & set("[\\/{") for pattern in found) else found


def _narrowly(patterns: Iterable[str]) -> tuple[str, ...]:
    """Those of the patterns that every program reads alike."""
    return tuple(pattern for pattern in patterns if not set(pattern) & set("[\\/{"))


def _rg(part: Part) -> Reading | None:
    options = programs.listed("rg", part.argv[1:])
    if options is None:
        return None
    found = programs.usual(options)
    if options.has("--files", "--type-list", "--version"):
        return found
    named = [file for file in options.files if file not in options.values("-f", "--file")]
    globs = options.values("-g", "--glob", "--iglob")
    taken = [glob for glob in globs if not glob.startswith("!")]
    only = [each.rpartition("/")[2] for glob in taken for each in _without_braces(glob)]
    unrestricted = sum(name == "-u" for name, _ in options.given) > 1
    hidden = bool(taken) or unrestricted or options.has("-.", "--hidden")
    filtered = () if {"", "**"} & set(only) else _widely(only)
    if not named and part.source is not None and not (part.document or part.reads):
        return found  # but it may be given another descriptor than the one that it reads
    below = tuple(Below(folder, only=filtered, hidden=hidden) for folder in named or ["."])
    return replace(found, files=tuple(options.files) if named else (*options.files, "."), below=below)


def _without_braces(glob: str) -> list[str]:
    found = re.search(r"\{([^{}]*)\}", glob)
    if found is None:
        return [glob]
    return [
        each
        for choice in found[1].split(",")
        for each in _without_braces(glob[: found.start()] + choice + glob[found.end() :])
    ][:64]


@dataclass(frozen=True, slots=True)
class _Find:
    """The words of a `find` that only looks, or hands what it finds to other readers."""

    folders: tuple[str, ...]
    tests: tuple[tuple[str, str], ...]
    """Each with its value, which is empty where it has none."""
    commands: tuple[tuple[str, ...], ...]

    @property
    def below(self) -> tuple[Below, ...]:
        """What it would hand to a command: not less than that."""
        names = [name for name, _ in self.tests]
        acts = next((at for at, name in enumerate(names) if name in _ACTIONS), len(names))
        if {"-o", "-or", ",", "("} & set(names) or not _ACTIONS.issuperset(names[acts:]):
            return tuple(Below(folder, links=True) for folder in self.folders)
        only: tuple[str, ...] = ()
        pruned: list[str] = []
        links = True
        for (before, _), (test, value) in pairwise((("", ""), *self.tests)):
            if before in {"!", "-not"}:
                if test in {"-path", "-wholename"} and (kept := _PRUNED.match(value)):
                    pruned.append(("./" if kept[1] == "./" else "") + kept[2])
            elif test in {"-name", "-iname"}:
                only = _widely((value,))
            elif (test, value) == ("-type", "f"):
                links = False  # else a program follows a link whose name it is given; find itself does not
        return tuple(Below(folder, only, (), tuple(pruned), links=links) for folder in self.folders)


def _find_words(words: tuple[str, ...]) -> _Find | None:
    rest = list(words)
    folders: list[str] = []
    tests: list[tuple[str, str]] = []
    commands: list[tuple[str, ...]] = []
    find = read_only().find
    while rest and not rest[0].startswith("-") and rest[0] not in {"!", "(", ")", ","}:
        folders.append(rest.pop(0))
    while rest:
        word = rest.pop(0)
        if word == "-exec":
            end = next((at for at in range(1, len(rest)) if _ends_command(rest[at - 1], rest[at])), None)
            if end is None:
                return None
            tests.append((word, ""))
            commands.append(tuple(rest[:end]))
            del rest[: end + 1]
        elif word in find.valued and rest:
            tests.append((word, rest.pop(0)))
        elif word in find.alone:
            tests.append((word, ""))
        else:
            return None
    return _Find(tuple(folders) or (".",), tuple(tests), tuple(commands))


def _ends_command(before: str, word: str) -> bool:
    """Whether `find` takes it for the end of what -exec runs: `+` is one only behind `{}`."""
    return word == ";" or (word == "+" and before == "{}")


def _find(part: Part) -> Reading | None:
    words = _find_words(part.argv[1:])
    if words is None:
        return None
    found = Reading(words.folders)
    for command in words.commands:
        inner = _reads_names(part, command, words.below, placeholder="{}")
        if inner is None:
            return None
        found = replace(found, files=(*found.files, *inner.files), below=(*found.below, *inner.below))
    return found


def _reads_names(
    part: Part, command: Sequence[str], below: tuple[Below, ...], placeholder: str | None
) -> Reading | None:
    """What a command reads that is given the names of files below these folders."""
    if placeholder is not None and (
        placeholder == command[0]
        or placeholder not in command[1:]
        or any(placeholder in word != placeholder for word in command)
    ):
        return None
    inner: list[str] = []
    for word in command:
        inner.extend([each.folder for each in below] if word == placeholder else [word])
    if placeholder is None:
        inner.extend(each.folder for each in below)
    words = tuple(Word(word, word, 0, 0) for word in inner)
    found = reading(Part(part.text, words, 0))
    if found is None or words[0].text in _SPECIAL.keys() - {"grep", "egrep", "fgrep", "sed"}:
        return None
    if command[0] in _NAMES_ONLY:
        return found
    return replace(found, below=(*found.below, *below))


def _xargs(part: Part) -> Reading | None:
    """Behind `find` or `git ls-files` it hands on names that are known to be below their folders."""
    rest = list(part.argv[1:])
    whole = placeholder = None
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in {"-0", "--null"}:
            whole = True
        elif option in {"-n", "-P", "-L"} and rest and rest[0].isdecimal():
            rest.pop(0)
        elif option == "-I" and rest and re.fullmatch(r"\{\}|[@%A-Z_]{1,8}", rest[0]):
            placeholder = rest.pop(0)
        elif option not in {"-r", "-t", "-x", "--no-run-if-empty"} and not re.fullmatch(r"-[nPL]\d+", option):
            return None
    below = _handed_on(part.source, whole=whole is True)
    if below is None:
        return None
    return _reads_names(part, rest or ["echo"], below, placeholder)


def _handed_on(source: Part | None, *, whole: bool) -> tuple[Below, ...] | None:
    """Below which folders the names are that a command writes."""
    while source is not None and (harmless := _FILTERS.get(source.argv[0])) is not None:
        found = reading(source)
        if found is None or found.files or found.below or whole or source.document or source.reads:
            return None
        options = programs.listed(source.argv[0], source.argv[1:])
        if options is None or not {name for name, _ in options.given} <= harmless:
            return None
        source = source.source
    if source is None or source.document or source.reads:
        return None
    name, *words = source.argv
    if name == "find" and not {"-printf", "-ls"} & set(words) and (looked := _find_words(tuple(words))):
        if looked.commands or whole is not ("-print0" in words):
            return None
        if not whole and any(word.tilde or _APART.search(word.text) for word in source.command):
            return None
        return tuple(each._replace(odd_names=whole) for each in looked.below)
    if name == "git" and words[:1] == ["ls-files"] and programs.read_git(source) is not None:
        options = read_options(read_only().git["ls-files"], tuple(words[1:]))
        if options is None or not {name for name, _ in options.given} <= _TRACKED:
            return None
        if whole is not options.has("-z"):
            return None
        return (Below(".", links=True, tracked=True, odd_names=whole),)
    return None


_SPECIAL: Final[Mapping[str, _Reader]] = {
    "find": _find,
    "xargs": _xargs,
    "git": programs.read_git,
    "grep": _grep,
    "egrep": _grep,
    "fgrep": _grep,
    "rg": _rg,
    "sed": programs.read_sed,
    "gsed": programs.read_sed,
    "awk": programs.read_awk,
    "gawk": programs.read_awk,
    "mawk": programs.read_awk,
    "nawk": programs.read_awk,
    "jq": programs.read_jq,
    "date": programs.read_date,
    "command": programs.read_command,
    "[": programs.read_bracket,
    "printenv": programs.read_printenv,
    "man": programs.read_man,
    "tar": programs.read_tar,
    "gtar": programs.read_tar,
    "unzip": programs.read_unzip,
    "strings": programs.read_strings,
    "diff": programs.read_diff,
}
