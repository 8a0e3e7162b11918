"""Owns the unified diff that an approval and a pane show; refuses to take long over large files."""

from __future__ import annotations

import re

from agent_tui_core.events import ApprovalPreview
from agent_tui_core.tools.paths import one_line

RESULT_DIFF_LIMIT = 100_000
"""Characters of the diff that comes with a result; an approval shows the whole."""

_CONTEXT = 3
_COMPARED_LINES = 2_000
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def unified_diff(before: bytes | None, after: bytes, path: str) -> str:
    """Return the change from `before` (None: no file) to `after`; empty when nothing changes.

    Only lines between the first and the last difference are compared. When there are very many of them
    they appear as one block that is replaced: longer than needed, but never cut and never slow.
    """
    if before == after:
        return ""
    name = one_line(path)
    old, new = _as_lines(before or b"", after)
    head = f"--- {name if before is not None else '/dev/null'}\n+++ {name}\n"
    return head + "\n".join(_hunks(old, new))


def diff_preview(before: bytes | None, after: bytes, path: str) -> ApprovalPreview:
    """Return the whole change as what an approval shows."""
    diff = unified_diff(before, after, path)
    if not diff:
        what = "an empty new file" if before is None else "nothing changes: the file holds this already"
        return ApprovalPreview("text", f"{one_line(path)}: {what}", path)
    return ApprovalPreview("diff", diff, path)


def cut_preview(preview: ApprovalPreview) -> ApprovalPreview:
    """Return the preview for a result: bounded, with a last line that says what is missing."""
    if len(preview.content) <= RESULT_DIFF_LIMIT:
        return preview
    kept = preview.content[:RESULT_DIFF_LIMIT].rpartition("\n")[0]
    more = preview.content.count("\n") - kept.count("\n")
    return ApprovalPreview(preview.kind, f"{kept}\n[… {more:,} more lines …]", preview.path)


def _as_lines(before: bytes, after: bytes) -> tuple[list[str], list[str]]:
    # CR LF is shown as a plain line end only where no line changes its end: such a change must be seen.
    if _ends(before) | _ends(after) == {b"\r\n"}:
        before, after = before.replace(b"\r\n", b"\n"), after.replace(b"\r\n", b"\n")
    return _split(before), _split(after)


def _ends(content: bytes) -> set[bytes]:
    crlf = content.count(b"\r\n")
    found = {b"\r\n"} if crlf else set()
    return found | {b"\n"} if content.count(b"\n") > crlf else found


def _split(content: bytes) -> list[str]:
    if b"\0" in content[:8192]:
        from hashlib import sha256

        return [f"(binary content, {len(content):,} bytes, SHA-256 {sha256(content).hexdigest()})"]
    lines = content.decode(errors="backslashreplace").split("\n")
    if not lines[-1]:
        return lines[:-1]
    lines[-1] += "\n\\ No newline at end of file"
    return lines


def _hunks(old: list[str], new: list[str]) -> list[str]:
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    start, end = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > _COMPARED_LINES:
        return _one_block(old, new, start)
    from difflib import unified_diff as compared

    hunks = list(compared(old, new, lineterm="", n=_CONTEXT))[2:]
    return [_moved(line, start) if line.startswith("@@") else line for line in hunks]


def _one_block(old: list[str], new: list[str], start: int) -> list[str]:
    head = f"@@ -{start + bool(old)},{len(old)} +{start + bool(new)},{len(new)} @@"
    return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def _moved(hunk: str, by: int) -> str:
    found = _HUNK.fullmatch(hunk)
    if not found:
        return hunk
    old, old_count, new, new_count = found.groups(default="")
    return f"@@ -{int(old) + by}{old_count} +{int(new) + by}{new_count} @@"
