"""Finds, in the source of the dashboard, words in places where Textual would read markup in them.

A place takes a `Content`, or a literal of ours without a bracket; toasts and widgets also say markup=False.
Refuses to guess: what it cannot see to be a `Content` is a finding.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_WIDGETS: Final = frozenset(
    {"Static", "Label", "Button", "Link", "Checkbox", "RadioButton", "Tab", "Collapsible"}
)
_PARTS: Final = frozenset({"Option", "Selection"})
_TITLES: Final = frozenset({"border_title", "border_subtitle", "title", "sub_title", "tooltip"})
_FORBIDDEN: Final = frozenset(
    {"from_markup", "render_markup", "from_rich_text", "with_tooltip", "Markdown", "RichLog"}
)
_MAKERS: Final = frozenset({"Content"})
_KEEPERS: Final = frozenset(
    {"join", "truncate", "stylize", "stylize_before", "fold", "pad", "append", "highlight_regex", "simplify"}
)
_OWN_TITLE: Final = "screens/terminal_title.py"
"""The app's title is words of ours and numbers; the module says so, and a test reads the terminal's bytes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that takes words which it would read markup in."""

    file: str
    line: int
    what: str


def contents(trees: Iterable[ast.Module]) -> frozenset[str]:
    """The names of functions and methods that return a `Content`."""
    return frozenset(
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and isinstance(node.returns, ast.Name)
        and node.returns.id in _MAKERS
    )


def findings(root: Path) -> list[Finding]:
    """All of them under this folder."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(root.rglob("*.py"))}
    made = contents(trees.values())
    return [
        finding
        for path, tree in trees.items()
        for finding in findings_in(tree, str(path.relative_to(root)), made)
    ]


def findings_in(tree: ast.Module, file: str, made: frozenset[str] = frozenset()) -> list[Finding]:
    """Those of one module; `made` names what returns a `Content` in the others."""
    return list(_Reader(file, made | contents([tree])).read(tree))


class _Reader:
    def __init__(self, file: str, made: frozenset[str]) -> None:
        self._file = file
        self._made = made

    def read(self, tree: ast.Module) -> Iterator[Finding]:
        functions = [
            node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        assigned = [(function, _assigned(function)) for function in functions]  # the inner ones come later
        scopes = {id(inner): known for function, known in assigned for inner in ast.walk(function)}
        for node in ast.walk(tree):
            known = scopes.get(id(node), {})
            match node:
                case ast.Call():
                    yield from self._call(node, known)
                case ast.Assign(targets=targets, value=value):
                    yield from self._assign(targets, value, known)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    yield from self._assign([target], value, known)
                case ast.Attribute(attr=name) | ast.alias(name=name) if name in _FORBIDDEN:
                    yield self._found(node, f"{name} reads markup")

    def _call(self, node: ast.Call, known: dict[str, list[ast.expr]]) -> Iterator[Finding]:
        name = _name(node.func)
        keywords = {word.arg: word.value for word in node.keywords}
        first = node.args[0] if node.args else keywords.get("content", keywords.get("label"))
        if name == "notify" or name in _WIDGETS:
            if not _is_false(keywords.get("markup")):
                yield self._found(node, f"{name} without markup=False")
            if (title := keywords.get("title")) is not None and not self._is_safe(title, known):
                yield self._found(node, f"the title of {name}")
        if (name in _WIDGETS or name in _PARTS) and first is not None and not self._is_safe(first, known):
            yield self._found(node, f"{name} of words that are no Content")
        shows = name == "update" and isinstance(node.func, ast.Attribute) and first is not None
        if shows and not self._is_safe(first, known) and not _is_collection(node.func, first):
            yield self._found(node, "update with words that are no Content")
        if name in {"SystemCommand", "DiscoveryHit", "Hit"} and not _is_plain(first):
            yield self._found(node, f"the title of a {name}")
        if name == "SystemCommand" and len(node.args) > 1 and not _is_our_help(node.args[1]):
            yield self._found(node, "the help of a SystemCommand")

    def _assign(
        self, targets: list[ast.expr], value: ast.expr, known: dict[str, list[ast.expr]]
    ) -> Iterator[Finding]:
        for target in targets:
            named = isinstance(target, ast.Attribute) and target.attr in _TITLES
            if named and not self._is_safe(value, known) and self._file != _OWN_TITLE:
                yield self._found(value, f"{_name(target)} of words that are no Content")

    def _is_safe(self, value: ast.expr | None, known: dict[str, list[ast.expr]], depth: int = 0) -> bool:
        match value:
            case ast.Constant(value=None):
                return True
            case ast.Constant(value=str() as words):
                return "[" not in words
            case ast.IfExp(body=body, orelse=orelse):
                return self._is_safe(body, known, depth) and self._is_safe(orelse, known, depth)
            case ast.Call(func=func):
                return self._makes_content(func, known, depth)
            case ast.Name(id=name) if depth < 5 and name in known:
                return all(self._is_safe(each, known, depth + 1) for each in known[name])
            case _:
                return False

    def _makes_content(self, func: ast.expr, known: dict[str, list[ast.expr]], depth: int) -> bool:
        match func:
            case ast.Name(id=name):
                return name in _MAKERS or name in self._made
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in _MAKERS:
                return attr not in _FORBIDDEN
            case ast.Attribute(value=value, attr=attr) if attr in _KEEPERS:
                return self._is_safe(value, known, depth) and not isinstance(value, ast.Constant)
            case ast.Attribute(attr=attr):
                return attr in self._made
            case _:
                return False

    def _found(self, node: ast.AST, what: str) -> Finding:
        return Finding(self._file, getattr(node, "lineno", 0), what)


def _assigned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, list[ast.expr]]:
    """What each local name is given; parameters that are declared a `Content` count as one."""
    given: dict[str, list[ast.expr]] = {}
    for argument in (*function.args.args, *function.args.kwonlyargs):
        declared = isinstance(argument.annotation, ast.Name) and argument.annotation.id in _MAKERS
        given[argument.arg] = [
            ast.Call(ast.Name("Content"), [], []) if declared else ast.Name(f"{argument.arg} from outside")
        ]
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name):
                        given.setdefault(target.id, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                given.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                given.setdefault(name, []).append(value)
    return given


def _name(func: ast.expr) -> str:
    match func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _is_false(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _is_plain(value: ast.expr | None) -> bool:
    """A literal of ours without a bracket, or words that went through `_plain`, which takes brackets out."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str) and "[" not in value.value
    return isinstance(value, ast.Call) and _name(value.func) == "_plain"


def _is_our_help(value: ast.expr) -> bool:
    """A literal, the help of an action, or an entry of a table of ours."""
    match value:
        case ast.Constant(value=str() as words):
            return "[" not in words
        case ast.Attribute(attr="help"):
            return True
        case ast.Subscript(value=ast.Name(id=name)):
            return name.isupper()
        case _:
            return False


def _is_collection(func: ast.expr, first: ast.expr | None) -> bool:
    """`set.update` and `dict.update` take what no widget does; a hash has a name of its own."""
    owner = func.value if isinstance(func, ast.Attribute) else func
    kinds = (ast.Dict, ast.Set, ast.List, ast.Tuple, ast.GeneratorExp, ast.DictComp, ast.SetComp)
    return (
        isinstance(first, kinds)
        or (isinstance(first, ast.Call) and _name(first.func) == "range")
        or (isinstance(owner, ast.Name) and owner.id in {"digest", "hasher"})
    )
