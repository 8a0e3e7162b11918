"""Owns which files a command writes, or reads by an option, that a rule with a star covers.

Nobody who allowed `tar *` meant an archive that brings `.envrc` along, or one that is unpacked in the home.
What it does not know it says so of: such a command is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from agent_tui_core.agent.effects import NOTHING, Effects, given_words
from agent_tui_core.agent.git_effects import git_effects
from agent_tui_core.agent.shell_dangers import table
from agent_tui_core.agent.shell_parse import Part


def effects(part: Part) -> Effects:
    """What a command touches; nothing for one of which nothing is known."""
    argv = part.argv
    name = argv[0].rpartition("/")[2]
    if check := _CHECKS.get(name):
        return check(argv)
    if name in table().runs_next or name in table().runs_after:
        inner = next(
            (word for word in argv[1:] if word.rpartition("/")[2] in _CHECKS.keys() - _READERS), None
        )
        if inner is not None:
            return Effects(unknown=f"nobody knows on which files {name} runs {inner}")
    return NOTHING


# --- copying and unpacking


def _copy(argv: tuple[str, ...]) -> Effects:
    found = given_words(
        argv[1:], "tSmgoZ", ("--target-directory", "--suffix", "--mode", "--owner", "--group")
    )
    if found.has("-r", "-R", "-a", "-b", "--recursive", "--archive", "--backup", "--parents"):
        return Effects(unknown=f"nobody knows which names {argv[0]} brings along")
    sources = found.operands
    if into := found.of("-t", "--target-directory"):
        return Effects(into=into[-1] + "/", sources=tuple(sources))
    if argv[0].endswith("install") and found.has("-d", "--directory"):
        return Effects(writes=tuple(sources))
    if not sources:
        return NOTHING
    into_one = sources[-1] if len(sources) > 1 else "."
    return Effects(into=into_one, sources=tuple(sources[:-1] if len(sources) > 1 else sources))


def _sync(argv: tuple[str, ...]) -> Effects:
    return Effects(unknown=f"nobody knows which names {argv[0]} brings along")


def _tar(argv: tuple[str, ...]) -> Effects:
    first = argv[1] if len(argv) > 1 else ""
    old = bool(first) and not first.startswith("-")
    rest = argv[2:] if old else argv[1:]
    values: list[tuple[str, str]] = []
    if old:  # the values of a bundle without a dash stand behind it, in order
        behind = iter(rest)
        values = [(f"-{letter}", next(behind, "")) for letter in first if letter in "fCbgXK"]
        rest = tuple(behind)
    found = given_words(rest, "fCbgXKNV", _TAR_VALUED)
    letters = {f"-{letter}" for letter in first} if old else set()
    given = {*found.alone, *letters}
    strange = next((each for each in found.alone if each.startswith("--") and each not in _TAR_PLAIN), None)
    if given & {"-x", "--extract", "--get"} or strange:
        return Effects(
            unknown="nobody knows which names an archive holds" if not strange else f"tar {strange}"
        )
    values += found.values
    written = [value for name, value in values if name in {"--index-file", "-g", "--listed-incremental"}]
    archives = [value for name, value in values if name in {"-f", "--file"} and value != "-"]
    folders = [value for name, value in values if name in {"-C", "--directory", "-X", "--exclude-from"}]
    if given & {"-t", "--list"}:
        return Effects(writes=tuple(written), reads=(*archives, *folders))
    if folders and archives:
        return Effects(unknown="tar changes the folder that names count from")
    return Effects(writes=(*written, *archives), reads=tuple(folders))


_TAR_VALUED: Final = (
    *("--file", "--directory", "--index-file", "--listed-incremental", "--exclude", "--exclude-from"),
    *("--owner", "--group", "--mtime", "--format", "--sort", "--mode"),
)
_TAR_PLAIN: Final = frozenset(
    {
        "--create",
        "--list",
        "--gzip",
        "--bzip2",
        "--xz",
        "--zstd",
        "--verbose",
        "--numeric-owner",
        "--wildcards",
    }
    | {"--one-file-system", "--no-recursion", "--exclude-vcs", "--auto-compress", "--dereference", "--totals"}
)


def _unpack(_: tuple[str, ...]) -> Effects:
    return Effects(unknown="nobody knows which names an archive holds")


def _unzip(argv: tuple[str, ...]) -> Effects:
    found = given_words(argv[1:], "dxP")
    telling = {"-l", "-t", "-p", "-Z", "-z"} & set(found.alone)
    return Effects(reads=tuple(found.operands[:1])) if telling and not found.values else _unpack(argv)


def _seven(argv: tuple[str, ...]) -> Effects:
    return NOTHING if argv[1:2] in {("l",), ("t",), ("i",)} else _unpack(argv)


def _patch(argv: tuple[str, ...]) -> Effects:
    return NOTHING if "--dry-run" in argv else Effects(unknown="nobody knows which files a patch names")


# --- names as they stand


def _operands_written(argv: tuple[str, ...]) -> Effects:
    valued = given_words(argv[1:], "drstmZ", ("--date", "--reference", "--size", "--mode"))
    return Effects(writes=tuple(valued.operands), reads=valued.of("-r", "--reference"))


def _dd(argv: tuple[str, ...]) -> Effects:
    given = [word.partition("=") for word in argv[1:]]
    return Effects(
        writes=tuple(value for name, _, value in given if name == "of"),
        reads=tuple(value for name, _, value in given if name == "if"),
    )


def _xxd(argv: tuple[str, ...]) -> Effects:
    found = given_words(argv[1:], "clsgonR")
    return Effects(writes=tuple(found.operands[1:]), reads=tuple(found.operands[:1]))


def _split(argv: tuple[str, ...]) -> Effects:
    found = given_words(
        argv[1:], "abClntfk", ("--additional-suffix", "--prefix", "--suffix-format", "--filter")
    )
    if found.of("--additional-suffix", "--suffix-format", "-b") and argv[0].endswith("csplit"):
        return Effects(unknown="nobody knows the names that csplit makes")
    if found.has("--additional-suffix"):
        return Effects(unknown="nobody knows the names that split makes")
    prefix = found.operands[1:2] if not argv[0].endswith("csplit") else [*found.of("-f", "--prefix")]
    return Effects(writes=tuple(f"{each}aa" for each in prefix), reads=tuple(found.operands[:1]))


def _reads_values(letters: str, *long: str) -> Callable[[tuple[str, ...]], Effects]:
    """A reader whose options name further files."""

    def check(argv: tuple[str, ...]) -> Effects:
        found = given_words(argv[1:], letters, long)
        return Effects(reads=tuple(value for _, value in found.values if value and value != "-"))

    return check


def _reads_a_list(letters: str, *long: str) -> Callable[[tuple[str, ...]], Effects]:
    """A reader that may take the names of what it reads from a file."""

    def check(argv: tuple[str, ...]) -> Effects:
        found = given_words(argv[1:], "", ())
        options = [f"-{letter}" for letter in letters]
        if found.has(*options, *long):
            return Effects(unknown=f"nobody knows which files the list names that {argv[0]} reads")
        return NOTHING

    return check


def _jq(argv: tuple[str, ...]) -> Effects:
    files = tuple(
        name
        for option, _, name in zip(argv, argv[1:], argv[2:], strict=False)
        if option in {"--rawfile", "--slurpfile"}
    )
    programs = given_words(argv[1:], "fL", ("--from-file", "--library-path")).values
    return Effects(reads=(*files, *(value for _, value in programs)))


def _find(argv: tuple[str, ...]) -> Effects:
    if "-files0-from" in argv:
        return Effects(unknown="nobody knows which folders the list names that find reads")
    return NOTHING


_READERS: Final = frozenset({"grep", "egrep", "fgrep", "rg", "jq", "find", "wc", "du", "sort", "file"})
_SUMS: Final = (
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum",
    "shasum",
)
_UNPACKERS: Final = (
    "cpio",
    "pax",
    "unrar",
    "unar",
    "unsquashfs",
    "jar",
    "uudecode",
    "unshar",
    "ouch",
    "aunpack",
)
_CHECKS: Final[Mapping[str, Callable[[tuple[str, ...]], Effects]]] = {
    **dict.fromkeys(("cp", "mv", "install", "ln", "gcp", "gmv", "ginstall", "gln"), _copy),
    **dict.fromkeys(("rsync", "scp", "rclone", "sftp", "rcp", "ditto"), _sync),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar),
    "unzip": _unzip,
    **dict.fromkeys(("7z", "7za", "7zr", "7zz"), _seven),
    **dict.fromkeys(_UNPACKERS, _unpack),
    **dict.fromkeys(("patch", "gpatch"), _patch),
    **dict.fromkeys(("tee", "touch", "mkdir", "truncate", "mkfifo", "mknod"), _operands_written),
    "dd": _dd,
    "xxd": _xxd,
    **dict.fromkeys(("split", "csplit"), _split),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _reads_values("f", "--file", "--exclude-from")),
    "rg": _reads_values("f", "--file", "--ignore-file"),
    "jq": _jq,
    "find": _find,
    **dict.fromkeys(_SUMS, _reads_a_list("c", "--check")),
    **dict.fromkeys(("wc", "du", "sort"), _reads_a_list("", "--files0-from")),
    "file": _reads_a_list("f", "--files-from"),
    "git": git_effects,
}
