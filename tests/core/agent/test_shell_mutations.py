"""Owns the proof that everyday commands stay allowed in any company, but never with a payload in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui_core.agent.permissions import Permissions
from shell_corpus import Attack, creates_marker, sandboxed
from shell_everyday import EVERYDAY, EVERYDAY_RULES, layout

PAYLOADS = (
    *(
        "; touch pwned",
        ";touch pwned;",
        " && touch pwned",
        " || touch pwned",
        " | touch pwned",
        " |& touch pwned",
    ),
    *(
        " & touch pwned",
        "\ntouch pwned\n",
        "$(touch pwned)",
        "`touch pwned`",
        "<(touch pwned)",
        ">pwned",
        "> pwned",
    ),
    *(
        '"; touch pwned #',
        "'; touch pwned #",
        "')\ntouch pwned\n('",
        "${x:-$(touch pwned)}",
        "\r\ntouch pwned\n",
    ),
    *(
        "{a,$(touch pwned)}",
        "\\\n; touch pwned",
        " -exec touch pwned ';'",
        " --output=pwned",
        " -o pwned",
        "!touch pwned",
    ),
)
CHAINS = (" && ", " || ", "; ", ";", "\n", " | ", " |& ", "&&")
ALONE = tuple(each for each in EVERYDAY if "cd " not in each and "#" not in each)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layout(tmp_path_factory.mktemp("everyday"))


def verdict(command: str, folder: Path) -> str:
    return Permissions(EVERYDAY_RULES).judge("Bash", {"command": command}, cwd=folder).behavior


@st.composite
def poisoned(draw: st.DrawFn) -> str:
    command = draw(st.sampled_from(EVERYDAY))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(command)))
        command = command[:at] + draw(st.sampled_from(PAYLOADS)) + command[at:]
    return command


@pytest.mark.skipif(not sandboxed(), reason="there is no bubblewrap to run commands in")
@given(poisoned())
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_everyday_command_with_a_payload_is_allowed_and_runs_it(
    workspace: Path, tmp_path_factory: pytest.TempPathFactory, command: str
) -> None:
    if verdict(command, workspace) == "allow":
        attack = Attack(command, "everyday", "", (), (), by_stdin=False)
        assert not creates_marker(attack, command, layout(tmp_path_factory.mktemp("run"))), command


@given(st.lists(st.sampled_from(ALONE), min_size=2, max_size=4), st.sampled_from(CHAINS))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_everyday_commands_are_allowed_together_too(workspace: Path, chosen: list[str], chain: str) -> None:
    assert verdict(chain.join(chosen), workspace) == "allow", chain.join(chosen)


@given(
    st.sampled_from(EVERYDAY),
    st.sampled_from(["", " ", "\n", "\t", "  \n"]),
    st.sampled_from(["", " ", "\n", "\n\n"]),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_space_around_an_everyday_command_asks_nothing(
    workspace: Path, command: str, front: str, back: str
) -> None:
    assert verdict(front + command + back, workspace) == "allow"
