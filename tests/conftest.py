"""Owns what one process of the suite does once; refuses fixtures, which stand beside their tests."""

from __future__ import annotations

import gc

import pytest


def pytest_collection_finish() -> None:
    """Let no garbage collection walk 4,000 tests and their modules again: a fifth of the processor's time."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many faults were met, layer by layer."""
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.stats.get(kind, [])]
    told = [value for report in reports for name, value in report.user_properties if name == "faults"]
    if told:
        layers = ", ".join(f"{layer} {count}" for layer, count, _ in sorted(told))
        met, complaints = sum(count for _, count, _ in told), sum(each for _, _, each in told)
        terminalreporter.write_line(f"fault table: {met} faults ({layers}), {complaints} complaints")
