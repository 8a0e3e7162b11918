"""The live soak: what it makes of its figures, and a short one of the whole program."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"
TIMES = [2.0 * number for number in range(300)]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("live_figures")


def _waves(per_hour: float) -> list[float]:
    return [100 + per_hour * at / 3600 + (at % 34) / 10 for at in TIMES]


def test_memory_that_grows_beyond_its_noise_does_not_hold(figures: ModuleType) -> None:
    grows = figures.slope(TIMES, _waves(60.0))
    assert abs(grows.per_hour - 60.0) < grows.error + 1
    flat = figures.slope(TIMES, _waves(0.0))
    [wrong] = figures.complaints({"memory": flat, "memory in use": grows}, None, None)
    assert "memory in use grew" in wrong
    assert figures.complaints({"memory": flat, "memory in use": flat}, None, None) == []


def test_one_descriptor_more_at_the_second_rest_does_not_hold(figures: ModuleType) -> None:
    flat = {"memory": figures.slope(TIMES, _waves(0.0))}
    first = figures.Sample(1.0, 80.0, 1000, 20, 30, 5, 0)
    assert figures.complaints(flat, first, figures.Sample(2.0, 81.0, 1000, 20, 29, 5, 0)) == []
    [wrong] = figures.complaints(flat, first, figures.Sample(2.0, 80.0, 1000, 21, 30, 5, 0))
    assert wrong.startswith("1 fds were gained")


def test_children_and_their_children_are_counted(figures: ModuleType) -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        below = int(child.stdout.readline())
        assert {child.pid, below} <= figures.descendants(os.getpid())
        subprocess.run(["kill", str(below)], check=True)


def test_its_servers_end_with_whoever_started_them() -> None:
    """Also when that was killed, and could not say so."""
    told = os.environ | {"PYTHONPATH": str(BENCH.parent / "tests")}
    command = [sys.executable, str(BENCH / "live_model.py"), "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=told) as server:
        assert server.stdin is not None and server.stdout is not None
        assert server.stdout.readline().count(b"http://127.0.0.1:") == 2
        server.stdin.close()
        try:
            assert server.wait(20) == 0
        finally:
            server.kill()


@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize("screen", ([], ["--core"]))
def test_a_short_soak_holds(screen: list[str]) -> None:
    command = [sys.executable, str(BENCH / "live.py"), "--minutes", "0.3", "--agents", "8", *screen]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-1].startswith("soak: held"), ended.stdout + ended.stderr
    assert ended.returncode == 0
