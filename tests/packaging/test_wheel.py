"""What is inside the wheel, and that core stands without a terminal."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    if not (ROOT / "README.md").exists():
        pytest.skip("the build needs README.md")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        return archive.namelist()


def test_only_our_two_packages_stand_at_the_top(wheel: list[str]) -> None:
    top = {name.split("/")[0] for name in wheel}
    assert {name for name in top if not name.endswith(".dist-info")} == {"agent_tui", "agent_tui_core"}


def test_every_module_of_the_tree_is_in_the_wheel(wheel: list[str]) -> None:
    expected = {
        file.relative_to(ROOT / floor).as_posix()
        for floor in ("core", "tui")
        for file in (ROOT / floor).rglob("*.py")
    }
    assert expected - set(wheel) == set()


@pytest.mark.parametrize(
    ("folder", "suffix"),
    [
        ("agent_tui/_themes/", ".toml"),
        ("agent_tui/styles/", ".tcss"),
        ("agent_tui_core/providers/demo_data/", ".toml"),
    ],
)
def test_data_files_are_in_the_wheel(wheel: list[str], folder: str, suffix: str) -> None:
    assert [name for name in wheel if name.startswith(folder) and name.endswith(suffix)]


def test_all_that_stands_beside_the_modules_is_in_the_wheel(wheel: list[str]) -> None:
    places = {"core": "", "tui": "", "themes": "agent_tui/_themes/"}
    expected = {
        prefix + file.relative_to(ROOT / top).as_posix()
        for top, prefix in places.items()
        for file in (ROOT / top).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert expected - set(wheel) == set()


def test_both_packages_say_that_they_are_typed(wheel: list[str]) -> None:
    assert {"agent_tui/py.typed", "agent_tui_core/py.typed"} <= set(wheel)


def test_the_program_and_the_licence_come_along(wheel: list[str]) -> None:
    assert [name for name in wheel if name.endswith(".dist-info/entry_points.txt")]
    assert [name for name in wheel if name.endswith("licenses/LICENSE")]


def test_themes_hold_no_code() -> None:
    assert not list((ROOT / "themes").rglob("*.py"))


def test_no_module_of_core_brings_the_terminal_along() -> None:
    script = """
import importlib, pkgutil, sys
sys.modules["httpx._main"] = None  # the command line of httpx, which httpx imports when rich is there
import agent_tui_core
for module in pkgutil.walk_packages(agent_tui_core.__path__, "agent_tui_core."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
found = sorted({name.split(".")[0] for name in sys.modules} & {"textual", "rich", "agent_tui"})
sys.exit(f"core imports {found}" if found else 0)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={"PYTHONPATH": str(ROOT / "core")},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
