"""Owns the proof that a diff says exactly what changes; refuses the disk."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agent_tui_core.events import ApprovalPreview
from agent_tui_core.tools import diffs
from agent_tui_core.tools.diffs import cut_preview, diff_preview, unified_diff

LINES = some.lists(some.sampled_from(["a", "b", "c", "", "-- x", "++ y", "@@ -1 +1 @@"]), max_size=30)


def applied(before: bytes, diff: str, folder: Path) -> bytes:
    (folder / "f").write_bytes(before)
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "-p0", "-"],
        input=(diff + "\n").encode(),
        cwd=folder,
        check=True,
        env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )
    return (folder / "f").read_bytes() if (folder / "f").exists() else b""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
@settings(max_examples=25, deadline=None)
@given(LINES, LINES, some.booleans(), some.booleans(), some.booleans())
def test_the_diff_applied_to_the_old_file_gives_the_new(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[str],
    new: list[str],
    old_ends: bool,
    new_ends: bool,
    coarse: bool,
) -> None:
    before = "\n".join(old).encode() + (b"\n" if old and old_ends else b"")
    after = "\n".join(new).encode() + (b"\n" if new and new_ends else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffs, "_COMPARED_LINES", 3 if coarse else 2_000)
        diff = unified_diff(before, after, "f")
    if before == after:
        assert diff == ""
    elif before and after:
        assert applied(before, diff, tmp_path_factory.mktemp("diff")) == after


def test_line_numbers_are_those_of_the_file() -> None:
    before = b"".join(b"line %d\n" % number for number in range(1, 101))
    diff = unified_diff(before, before.replace(b"line 50\n", b"new\nnewer\n"), "f")
    assert "@@ -47,7 +47,8 @@" in diff


def test_line_ends_that_change_are_seen_and_those_that_stay_are_not() -> None:
    assert "\r" not in unified_diff(b"a\r\nb\r\n", b"a\r\nc\r\n", "f")
    assert "-a\r\n" in unified_diff(b"a\r\nb\r\n", b"a\nb\n", "f")


def test_a_missing_last_line_end_is_told() -> None:
    assert unified_diff(b"a\n", b"a", "f").endswith("-a\n+a\n\\ No newline at end of file")


def test_a_very_different_large_file_is_quick_and_whole() -> None:
    before = b"".join(b"a %d\n" % number for number in range(50_000))
    after = b"".join(b"b %d\n" % number for number in range(50_000))
    started = time.monotonic()
    assert unified_diff(before, after, "f").count("\n") == 100_002
    assert time.monotonic() - started < 2


def test_binary_content_is_told_by_size_and_hash() -> None:
    assert "+(binary content, 3 bytes, SHA-256 " in unified_diff(b"text\n", b"a\0b", "f")


def test_the_diff_of_a_result_is_cut_with_a_mark() -> None:
    preview = diff_preview(None, b"line\n" * 50_000, "f")
    cut = cut_preview(preview)
    assert preview.content.count("\n") == 50_002
    assert len(cut.content) < 101_000
    assert cut.content.endswith(" more lines …]")
    assert cut_preview(ApprovalPreview("diff", "x")) == ApprovalPreview("diff", "x")
