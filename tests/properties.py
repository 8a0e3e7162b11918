"""Owns how hard a property is tried: 200 examples in the suite, as many as `bench/soak.py` says in a soak.

Refuses deadlines, which fail on a busy machine, and in a soak the database, which costs more than it saves.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

EXAMPLES_VARIABLE = "AGENT_TUI_EXAMPLES"
IN_SOAK = EXAMPLES_VARIABLE in os.environ
_EXAMPLES = int(os.environ.get(EXAMPLES_VARIABLE, "200"))
_SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


def tried(*, share: int = 1, shared_in_suite: bool = False) -> settings:
    """Settings of one property; in a soak so many tests share its examples, slow ones also in the suite."""
    examples = -(-_EXAMPLES // share) if IN_SOAK or shared_in_suite else _EXAMPLES
    chosen = settings(max_examples=examples, deadline=None, suppress_health_check=_SLOW)
    return settings(chosen, database=None) if IN_SOAK else chosen
