"""Programs that only read, in a grammar of their own: git, jq, awk, tar and others, one function each."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from agent_tui_core.agent.readonly_options import Options, read_only, read_options
from agent_tui_core.agent.shell_parts import Part
from agent_tui_core.agent.text_programs import awk_is_plain, sed_is_plain
from agent_tui_core.records import dataclass
from agent_tui_core.tools.names_below import Below

_GIT_GLOBAL: Final = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
_NO_SIGNATURES: Final = re.compile(r"%[-+ ]?G|signature")
"""Whoever looks at a signature runs gpg."""
_GIT_SETTING: Final = re.compile(
    r"(?:user\.(?:name|email)|remote\.[\w./-]+\.url|init\.defaultbranch)\Z", re.IGNORECASE
)
_GIT_LISTS: Final = frozenset(
    {
        "--stat",
        "--name-only",
        "--name-status",
        "--numstat",
        "--shortstat",
        "--summary",
        "--quiet",
        "--dirstat",
    }
    | {"-s", "--no-patch", "--compact-summary"}
)
"""With one of these git shows names and numbers, not what is in files."""
_GIT_PATCHES: Final = frozenset(
    {"-p", "-u", "--patch", "--patch-with-stat", "--patch-with-raw", "-c", "-m", "-L", "-U", "--unified"}
    | {"-W", "--function-context", "--word-diff", "--word-diff-regex", "--color-words", "--binary", "--check"}
)
"""With one of these it shows what is in files, whatever else was said."""
_JQ: Final = re.compile(r"\b(?:import|include|env|ENV|input_filename|modulemeta|get_search_list)\b|__prog")
_TOLD: Final = re.compile(r"(?:PWD|HOME|USER|LOGNAME|SHELL|PATH|LANG|LC_[A-Z]+|TERM|TMPDIR|TZ|VIRTUAL_ENV)\Z")
_PAGE: Final = re.compile(r"[a-z0-9][A-Za-z0-9_+.-]*\Z")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a read-only command reads."""

    files: tuple[str, ...] = ()
    """Files and folders that it names, a `*` in them unexpanded."""
    below: tuple[Below, ...] = ()
    """Folders, as they are named, of which it reads all."""
    values: tuple[str, ...] = ()
    """What it takes for values of options: were it wrong, they would be files."""


def usual(options: Options) -> Reading:
    return Reading(options.files, values=tuple(value for _, value in options.given if value))


def listed(name: str, words: tuple[str, ...]) -> Options | None:
    return read_options(read_only().programs[name], words)


def read_git(part: Part) -> Reading | None:
    rest = list(part.argv[1:])
    while rest and rest[0] in _GIT_GLOBAL:
        rest.pop(0)
    if rest in (["--version"], ["version"]):
        return Reading()
    if not rest or any(_NO_SIGNATURES.search(word) for word in rest):
        return None
    if rest[0] == "config":
        asked = [word for word in rest[1:] if word not in {"--get", "get", "--local", "--global"}]
        return Reading() if len(asked) == 1 and _GIT_SETTING.match(asked[0]) else None
    for length in (2, 1):
        name = " ".join(rest[:length])
        shape = read_only().git.get(name)
        if shape is not None and len(rest) >= length:
            options = read_options(shape, tuple(rest[length:]))
            if options is None:
                return None
            found = usual(options)
            # `git show HEAD:FILE` names a file, too.
            named = [word.partition(":")[2] for word in found.files if ":" in word]
            found = replace(found, files=(*found.files, *filter(None, named)))
            if not _shows(name, options):
                return found
            tracked = not options.has("--untracked")
            return replace(found, below=(Below(".", tracked=tracked),))
    return None


def _shows(name: str, options: Options) -> bool:
    """Whether it shows what is in files that nobody named."""
    if name in {"grep", "cat-file"}:
        return True
    if name == "status":
        return options.has("-v", "--verbose")
    patches = options.has(*_GIT_PATCHES) or any(given.startswith("-U") for given, _ in options.given)
    if name in {"diff", "show", "diff-tree", "stash show"}:
        return patches or not options.has(*_GIT_LISTS)
    return name in {"log", "whatchanged", "stash list", "reflog"} and patches


def read_sed(part: Part) -> Reading | None:
    files = sed_is_plain(("sed", *part.argv[1:]))
    return None if files is None else Reading(files)


def read_awk(part: Part) -> Reading | None:
    files = awk_is_plain(part.argv)
    return None if files is None else Reading(files)


def read_jq(part: Part) -> Reading | None:
    options = listed("jq", part.argv[1:])
    if options is None or any(_JQ.search(word) for word in part.argv[1:]):
        return None
    return usual(options)


def read_date(part: Part) -> Reading | None:
    words = list(part.argv[1:])
    while words:
        word = words.pop(0)
        if word in {"-d", "--date"} and words:
            words.pop(0)
        elif not (
            word in {"-u", "-R", "-I", "--utc", "--iso-8601"}
            or word.startswith(("+", "--date=", "--iso-8601="))
        ):
            return None
    return Reading()


def read_command(part: Part) -> Reading | None:
    return Reading() if part.argv[1:2] in {("-v",), ("-V",)} else None


def read_bracket(part: Part) -> Reading | None:
    if part.argv[-1] != "]":
        return None
    options = listed("test", part.argv[1:-1])
    return None if options is None else usual(options)


def read_printenv(part: Part) -> Reading | None:
    words = part.argv[1:]
    return Reading() if words and all(_TOLD.match(word) for word in words) else None


def read_man(part: Part) -> Reading | None:
    words = part.argv[1:]
    if words and re.fullmatch(r"[1-9]|-k|-f", words[0]):
        words = words[1:]
    return Reading() if words and all(_PAGE.match(word) for word in words) else None


def read_tar(part: Part) -> Reading | None:
    """`tar tf FILE`: a list. An archive whose name holds a colon may be on another machine."""
    words = list(part.argv[1:])
    letters = words.pop(0).removeprefix("-") if words else ""
    if not re.fullmatch(r"[tzjJv]*t[zjJv]*f", letters) or not words or ":" in words[0]:
        return None
    if any(word.startswith("-") for word in words) or any(word.stars for word in part.command):
        return None
    return Reading((words[0],))


def read_unzip(part: Part) -> Reading | None:
    words = part.argv[1:]
    plain = len(words) == 2 and words[0] in {"-l", "-Z1", "-Z"} and not words[1].startswith("-")
    return Reading((words[1],)) if plain else None


def read_strings(part: Part) -> Reading | None:
    """A word that begins with `@` names a file of options."""
    options = listed("strings", part.argv[1:])
    if options is None or any(word.startswith("@") for word in part.argv):
        return None
    return usual(options)


def read_diff(part: Part) -> Reading | None:
    options = listed("diff", part.argv[1:])
    if options is None:
        return None
    below = tuple(Below(folder, links=True) for folder in options.files) if options.has("-r") else ()
    return replace(usual(options), below=below)
