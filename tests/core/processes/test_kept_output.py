"""Owns the proof that an output of any length is bounded; refuses processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent_tui_core.processes import output
from agent_tui_core.processes.output import KeptOutput


def kept(*chunks: bytes, limit: int = 100, file_limit: int = 10_000) -> KeptOutput:
    done = KeptOutput(limit, file_limit)
    for chunk in chunks:
        done.feed(chunk)
    done.close()
    return done


@given(some.lists(some.binary(max_size=300), max_size=8))
def test_the_text_is_bounded_and_the_file_holds_all(chunks: list[bytes]) -> None:
    done = kept(*chunks)
    whole = b"".join(chunks)
    assert len(done.text()) <= 100 + 200
    if done.file is None:
        assert done.text() == whole.decode(errors="replace")
    else:
        assert done.file.read_bytes() == whole
        done.file.unlink()


def test_what_is_missing_is_counted() -> None:
    done = kept(b"a" * 50 + b"-" * 1_000 + b"z" * 50)
    assert done.text().startswith("a" * 50 + "\n[… 1,000 bytes left out here; ")
    assert done.text().endswith(" …]\n" + "z" * 50)


def test_many_small_chunks_and_one_large_are_the_same() -> None:
    whole = b"".join(b"line %d\n" % number for number in range(400))
    one, many = kept(whole), kept(*(whole[at : at + 1] for at in range(len(whole))))
    assert one.text().partition(";")[0] == many.text().partition(";")[0]
    assert one.text().rpartition("]")[2] == many.text().rpartition("]")[2]


def test_wide_characters_that_fit_leave_no_file() -> None:
    done = kept("€".encode() * 90)
    assert (done.text(), done.file) == ("€" * 90, None)


def test_the_file_ends_at_its_limit_and_the_text_says_so() -> None:
    done = kept(b"x" * 600, b"y" * 600, limit=50, file_limit=1_000)
    assert done.file is not None
    assert done.file.read_bytes() == b"x" * 600 + b"y" * 400
    assert "the first 1,000 bytes can be read in" in done.text()


def test_a_folder_that_cannot_be_made_costs_only_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> Path:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(output, "_private_folder", full)
    done = kept(b"x" * 1_000)
    assert done.file is None
    assert "[… 900 bytes left out here …]" in done.text()


def test_old_files_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_private_folder", lambda: tmp_path)
    monkeypatch.setattr(output, "FILES_KEPT", 3)
    files = [kept(b"x" * 1_000).file for _ in range(6)]
    assert files[-1] is not None
    assert files[-1].exists()
    assert len(list(tmp_path.iterdir())) == 3
