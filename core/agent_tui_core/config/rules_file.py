"""Owns the file of remembered rules: its shape, reading it, adding to it, taking from it; refuses to judge.

Several programs share it: a change reads it anew under a lock and replaces it in one step. Settings that a
person wrote are another file, which nothing here writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from agent_tui_core.config.private_files import locked, replace_private
from agent_tui_core.config.words import Place
from agent_tui_core.errors import ConfigError
from agent_tui_core.records import dataclass
from agent_tui_core.regular_file import open_regular

RULES_FILE: Final = "rules.toml"
LARGEST_FILE: Final = 2**20
MOST_RULES: Final = 2_000
RuleList: TypeAlias = Literal["allow", "ask", "deny"]
RULE_LISTS: Final[tuple[RuleList, ...]] = ("deny", "ask", "allow")
_KEYS: Final = ("rule", "behavior", "workspace", "agent", "added")
_HEAD: Final = (
    "# Rules that were remembered: agent-tui writes this file. To see, add or remove rules:\n"
    "# agent-tui rules --help. Rules of your own hand belong in [permissions] of config.toml.\n"
)


@dataclass(frozen=True, slots=True)
class RememberedRule:
    """One rule that a person chose to keep, and for whom."""

    rule: str
    behavior: RuleList = "allow"
    workspace: Path | None = None
    """Only for agents that work in this folder, links resolved; None holds everywhere."""
    agent: str | None = None
    """Only for agents of this name."""
    added: str = ""
    """The moment, as 2026-11-21T12:00:00Z."""

    @property
    def about(self) -> tuple[str, RuleList, Path | None, str | None]:
        """What makes it the same as another one."""
        return self.rule, self.behavior, self.workspace, self.agent


def rules_file(config_dir: Path) -> Path:
    """Where remembered rules are kept; it need not exist."""
    return config_dir / RULES_FILE


def read_rules(file: Path) -> tuple[RememberedRule, ...]:
    """What is remembered; empty without a file.

    Raises `ConfigError` for a broken file: a rule that is lost may be one that denies.
    """
    try:
        with open_regular(file) as stream:
            raw = stream.read(LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(file)) from error
    if len(raw) > LARGEST_FILE:
        raise ConfigError("is larger than 1 MiB: it is no file that agent-tui wrote", file=str(file))
    return _rules(raw, Place(str(file)))


def add_rule(file: Path, rule: RememberedRule) -> bool:
    """Keep a rule; False when it was kept before. Raises `ConfigError`, and then nothing has changed."""
    stamped = RememberedRule(*rule.about, added=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return _change(file, lambda kept: None if stamped.about in _abouts(kept) else (*kept, stamped))


def remove_rules(file: Path, unwanted: Callable[[RememberedRule], bool]) -> int:
    """Forget the rules for which `unwanted` is true; return how many. Raises `ConfigError`."""
    gone = 0

    def without(kept: Sequence[RememberedRule]) -> Sequence[RememberedRule] | None:
        nonlocal gone
        left = [rule for rule in kept if not unwanted(rule)]
        gone = len(kept) - len(left)
        return left if gone else None

    _change(file, without)
    return gone


def _abouts(rules: Sequence[RememberedRule]) -> set[object]:
    return {rule.about for rule in rules}


def _change(
    file: Path, change: Callable[[Sequence[RememberedRule]], Sequence[RememberedRule] | None]
) -> bool:
    try:
        with locked(file):
            changed = change(read_rules(file))
            if changed is None:
                return False
            if len(changed) > MOST_RULES:
                raise ConfigError(f"at most {MOST_RULES} rules are kept; remove some first", file=str(file))
            replace_private(file, _HEAD + "".join(map(_table, changed)))
            return True
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it holds text that is no UTF-8"
        raise ConfigError(f"cannot be written: {why}", file=str(file)) from error


def _rules(raw: bytes, place: Place) -> tuple[RememberedRule, ...]:
    import tomllib

    try:
        tables = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            "is not valid TOML. Mend it by hand, or move it away to start without remembered rules",
            file=place.file,
        ) from error
    entries = tables.get("rules", [])
    if set(tables) - {"rules"} or not isinstance(entries, list):
        place.refuse("holds [[rules]] only; rules of your own hand belong in [permissions] of config.toml")
    return tuple(_rule(entry, place.at("rules", index)) for index, entry in enumerate(entries))


def _rule(entry: object, here: Place) -> RememberedRule:
    from agent_tui_core.config.rule_text import read_rule

    if not isinstance(entry, dict):
        here.refuse("should be a table: [[rules]]")
    texts: Mapping[str, Any] = {key: value for key, value in entry.items() if isinstance(value, str)}
    for key in entry:
        if key not in _KEYS:
            here.at(str(key)).refuse(f"there is no such key; there are {', '.join(_KEYS)}")
        if key not in texts:
            here.at(str(key)).refuse("should be text in quotes")
    behavior = texts.get("behavior", "allow")
    if behavior not in RULE_LISTS:
        here.at("behavior").refuse("should be 'allow', 'ask' or 'deny'")
    try:
        read_rule(texts.get("rule", ""))
    except ValueError as error:
        here.at("rule").refuse(str(error))
    workspace = texts.get("workspace")
    if workspace is not None and not workspace.startswith("/"):
        here.at("workspace").refuse("should be the whole path of a folder")
    return RememberedRule(
        texts["rule"],
        behavior,
        Path(workspace) if workspace is not None else None,
        texts.get("agent"),
        texts.get("added", ""),
    )


def _table(rule: RememberedRule) -> str:
    rows = {
        "rule": rule.rule,
        "behavior": rule.behavior,
        "workspace": None if rule.workspace is None else str(rule.workspace),
        "agent": rule.agent,
        "added": rule.added or None,
    }
    lines = (f"{key} = {_quoted(text)}\n" for key, text in rows.items() if text is not None)
    return "\n[[rules]]\n" + "".join(lines)


def _quoted(text: str) -> str:
    """A basic string of TOML; raises UnicodeError for half of a character."""
    text.encode("utf-8")
    escapes = {'"': '\\"', "\\": "\\\\"}
    shown = (escapes.get(char, char if char.isprintable() else f"\\U{ord(char):08x}") for char in text)
    return f'"{"".join(shown)}"'
