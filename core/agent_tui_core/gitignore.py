"""Matches one pattern of gitignore against paths, in time that does not grow with the pattern's stars.

A rule may come from a folder that nobody trusts, and many stars keep a matcher that backtracks busy for
hours. pathspec's backend for RE2 doesn't backtrack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def without_surrogates(path: str) -> str:
    """The path as RE2 takes it: of a name that is no UTF-8 Python makes surrogates."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class GitignorePattern:
    """One pattern, made ready when it is first held against a path."""

    __slots__ = ("_spec", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._spec: GitIgnoreSpec | None = None

    def matches(self, path: str) -> bool:
        """Whether it is about this path, relative and with slashes. Raises ValueError for a bad pattern."""
        if self._spec is None:
            self._spec = self._made()
        return self._spec.match_file(without_surrogates(path))

    def check(self) -> None:
        """Raise ValueError for a pattern that cannot be read."""
        self._spec = self._made()

    def _made(self) -> GitIgnoreSpec:
        import re

        import re2
        from pathspec import GitIgnoreSpec

        try:
            return GitIgnoreSpec.from_lines([self.pattern.removeprefix("./") or "*"], backend="re2")
        except (re.error, re2.error) as error:
            raise ValueError(str(error)) from error
