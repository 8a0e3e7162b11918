"""Owns which files a git command writes, or reads by an option; of most that change the tree nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from agent_tui_core.agent.effects import NOTHING, Effects, given_words


def git_effects(argv: tuple[str, ...]) -> Effects:
    words = list(argv[1:])
    while words and words[0].startswith("-"):
        words.pop(0)
    if not words:
        return NOTHING
    name, rest = words[0], tuple(words[1:])
    if name in _GIT_BRINGS:
        return Effects(unknown=f"nobody knows which files git {name} writes")
    letters = {
        "grep": "fe",
        "blame": "SL",
        "annotate": "SL",
        "commit": "FtmCc",
        "tag": "Fmu",
        "notes": "FmCc",
    }
    found = given_words(
        rest,
        letters.get(name, ""),
        ("--file", "--template", "--contents", "--pathspec-from-file", "--message"),
    )
    if found.of("--pathspec-from-file"):
        return Effects(unknown=f"nobody knows which files the list names that git {name} reads")
    reads = found.of("-F", "--file", "--template", "--contents", "-t", "-f", "-S")
    if reads:
        return Effects(reads=tuple(each for each in reads if each != "-"))
    if name == "push":
        return Effects(remotes=tuple(found.operands[:2]) + given_words(rest, "", ("--repo",)).of("--repo"))
    check = _GIT.get(name)
    return check(rest) if check else NOTHING


def _git_restores(name: str, makes: tuple[str, ...]) -> Callable[[tuple[str, ...]], Effects]:
    def check(rest: tuple[str, ...]) -> Effects:
        found = given_words(rest, "bBcCs", ("--orphan", "--create", "--force-create", "--source"))
        if found.of(*makes) and not found.operands:
            return NOTHING
        staged = found.has("--staged", "-S") and not found.has("--worktree", "-W")
        if name == "restore" and staged:
            return NOTHING
        if name == "restore" or (name == "checkout" and "--" in rest):
            paths = found.operands if name == "restore" else list(rest[rest.index("--") + 1 :])
            if paths:
                return Effects(files=tuple(paths))
        return Effects(unknown=f"nobody knows which files git {name} writes")

    return check


def _git_stash(rest: tuple[str, ...]) -> Effects:
    if rest[:1] and rest[0] in {"list", "show", "drop", "clear", "create", "store"}:
        return NOTHING
    return Effects(unknown="nobody knows which files git stash writes")


def _git_reset(rest: tuple[str, ...]) -> Effects:
    if any(
        len(word) > 2 and any(n.startswith(word) for n in ("--hard", "--merge", "--keep")) for word in rest
    ):
        return Effects(unknown="nobody knows which files git reset writes")
    return NOTHING


def _git_worktree(rest: tuple[str, ...]) -> Effects:
    if rest[:1] in {("add",), ("move",), ("repair",)}:
        return Effects(unknown=f"nobody knows which files git worktree {rest[0]} writes")
    return NOTHING


def _git_bundle(rest: tuple[str, ...]) -> Effects:
    operands = [word for word in rest if not word.startswith("-")]
    return Effects(writes=tuple(operands[1:2])) if operands[:1] == ["create"] else NOTHING


def _git_move(rest: tuple[str, ...]) -> Effects:
    operands = [word for word in rest if not word.startswith("-")]
    return Effects(into=operands[-1], sources=tuple(operands[:-1])) if len(operands) > 1 else NOTHING


_GIT_BRINGS: Final = frozenset(
    {"merge", "pull", "rebase", "cherry-pick", "revert", "am", "apply", "clone", "init", "sparse-checkout"}
    | {"read-tree", "checkout-index", "submodule"}
)
_GIT: Final[Mapping[str, Callable[[tuple[str, ...]], Effects]]] = {
    "checkout": _git_restores("checkout", ("-b", "-B", "--orphan")),
    "switch": _git_restores("switch", ("-c", "-C", "--create", "--force-create", "--orphan")),
    "restore": _git_restores("restore", ()),
    "stash": _git_stash,
    "reset": _git_reset,
    "worktree": _git_worktree,
    "bundle": _git_bundle,
    "mv": _git_move,
}
