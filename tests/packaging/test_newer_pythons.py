"""Which Pythons `.ci/run` tries beside the one that the suite runs on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def said_to_be(folder: Path, version: tuple[int, int], *, broken: bool = False) -> Path:
    """A program that answers the two questions of the script as a Python of this version does."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"python{version[0]}.{version[1]}"
    answer = (
        "exit 1" if broken else f'case "$2" in *print*) echo {version[1]};; *) [ "$3" = {version[1]} ];; esac'
    )
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o700)
    return program


def found(main: Path, path: Path, **environ: str) -> list[str]:
    path.mkdir(exist_ok=True)
    done = subprocess.run(
        [ROOT / ".ci/pythons", main],
        env={"PATH": f"{path}:/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return [line for line in done.stdout.splitlines() if line.startswith(str(path.parent))]


def test_one_python_of_each_newer_version_is_found_on_the_path_or_in_pyenvs_folder(tmp_path: Path) -> None:
    path, pyenv = tmp_path / "bin", tmp_path / "pyenv"
    main = said_to_be(tmp_path / "main", (3, 11))
    said_to_be(path, (3, 11))
    said_to_be(
        path, (3, 12), broken=True
    )  # pyenv puts programs on PATH that work only where they were chosen
    twelve = [said_to_be(pyenv / "versions" / name / "bin", (3, 12)) for name in ("3.12.9", "3.12.10")]
    said_to_be(pyenv / "versions" / "3.10.1" / "bin", (3, 10))
    thirteen = said_to_be(path, (3, 13))
    said_to_be(pyenv / "versions" / "3.13.0" / "bin", (3, 13))
    assert found(main, path, PYENV_ROOT=str(pyenv)) == [str(twelve[1]), str(thirteen)]
    assert found(main, path) == [str(thirteen)]


def test_a_machine_with_one_python_has_nothing_more_to_try(tmp_path: Path) -> None:
    main = said_to_be(tmp_path / "main", (3, 13))
    said_to_be(tmp_path / "bin", (3, 11))
    assert found(main, tmp_path / "bin", PYENV_ROOT=str(tmp_path / "missing")) == []


def test_this_python_is_one_that_could_be_found(tmp_path: Path) -> None:
    path = tmp_path / "bin"
    path.mkdir()
    version = f"3.{sys.version_info[1]}"
    (path / f"python{version}").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (path / f"python{version}").chmod(0o700)
    main = said_to_be(tmp_path / "main", (3, sys.version_info[1] - 1))
    assert found(main, path) == [str(path / f"python{version}")]
