"""Owns the proof that no known attack on a command line is allowed, and that each of them is a real one."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui_core.agent.permissions import PermissionRules, Permissions
from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_words import Unreadable
from shell_corpus import Attack, attacks, creates_marker, prepare, sandboxed
from shell_everyday import EVERYDAY, EVERYDAY_RULES, layout

ATTACKS = attacks()
KINDS = tuple(dict.fromkeys(attack.kind for attack in ATTACKS))
NOT_LOOKING = [attack for attack in ATTACKS if attack.kind not in {"git", "folders"}]
LOOKING_AT_FILES = [attack for attack in ATTACKS if attack.kind in {"git", "folders"}]


def verdicts(attack: Attack, line: str, folder: Path) -> list[str]:
    rules = PermissionRules(allow=attack.allow)
    input_ = {"command": line}
    return [
        rules.judge("Bash", input_, cwd=folder).behavior,
        Permissions(rules).judge("Bash", input_, cwd=folder).behavior,
    ]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Of each setup that the rules may look at, a folder in which it ran."""
    if not sandboxed():
        pytest.skip("there is no bubblewrap to lay out hostile folders in")
    made: dict[str, Path] = {}
    for attack in LOOKING_AT_FILES:
        if attack.setup not in made:
            made[attack.setup] = tmp_path_factory.mktemp("hostile")
            prepare(attack, made[attack.setup])
    return made


def test_the_corpus_is_large_and_says_everything_once() -> None:
    assert len({attack.line for attack in ATTACKS}) >= 300
    assert len(KINDS) >= 8


@pytest.mark.parametrize("attack", NOT_LOOKING, ids=lambda attack: attack.line[:60])
def test_no_attack_is_allowed(attack: Attack, tmp_path: Path) -> None:
    assert "allow" not in verdicts(attack, attack.line, tmp_path)


def test_no_attack_is_allowed_in_the_folder_that_was_laid_out_for_it(prepared: dict[str, Path]) -> None:
    for attack in LOOKING_AT_FILES:
        assert "allow" not in verdicts(attack, attack.line, prepared[attack.setup]), attack.line


@pytest.mark.skipif(not sandboxed(), reason="there is no bubblewrap to run attacks in")
@pytest.mark.parametrize("kind", KINDS)
def test_every_attack_does_run_its_payload_in_bash(kind: str, tmp_path: Path) -> None:
    chosen = [attack for attack in ATTACKS if attack.kind == kind and attack.can_run]

    def proves(numbered: tuple[int, Attack]) -> str | None:
        number, attack = numbered
        folder = tmp_path / str(number)
        folder.mkdir()
        return None if creates_marker(attack, attack.line, folder) else attack.line

    with ThreadPoolExecutor(4) as pool:
        failed = [line for line in pool.map(proves, enumerate(chosen)) if line is not None]
    assert failed == []


@pytest.mark.skipif(not sandboxed(), reason="there is no bubblewrap to run attacks in")
def test_enough_attacks_are_shown_to_be_real() -> None:
    assert sum(attack.can_run for attack in ATTACKS) >= 300


def test_where_everything_but_the_payload_is_allowed_no_attack_is() -> None:
    rules = PermissionRules(allow=["Bash"], deny=["Bash(touch *)"])
    named = [attack for attack in ATTACKS if "touch pwned" in attack.line]
    judged = {
        line: rules.judge("Bash", {"command": line}, cwd=Path("/work")).behavior for line in lines(named)
    }
    assert [line for line, behavior in judged.items() if behavior == "allow"] == []
    assert list(judged.values()).count("deny") > 0.7 * len(judged)


def lines(chosen: list[Attack]) -> list[str]:
    return [attack.line for attack in chosen]


@pytest.mark.parametrize("command", EVERYDAY)
def test_everyday_commands_run_without_a_question(command: str, tmp_path: Path) -> None:
    judgement = Permissions(EVERYDAY_RULES).judge("Bash", {"command": command}, cwd=layout(tmp_path))
    assert judgement.behavior == "allow", judgement


def test_there_are_enough_everyday_commands() -> None:
    assert len(set(EVERYDAY)) >= 40


# --- mutations ---------------------------------------------------------------------------------------------

FRONTS = (
    "ls; ",
    "ls && ",
    "true | ",
    "\n",
    "  ",
    "timeout 5 ",
    "time ",
    "command ",
    "nice ",
    "X=1 ",
    "! ",
    "# x\n",
    "cd . && ",
)
BACKS = (
    "; ls",
    " && ls",
    " | cat",
    " & wait",
    "\n",
    " # x",
    " 2>&1",
    " > /dev/null",
    " || true",
    ";",
    "\\\n",
    " --",
)
INSERTS = (
    "'",
    '"',
    "\\",
    " ",
    "\t",
    "\n",
    "$",
    "`",
    "(",
    ")",
    "{",
    "}",
    ";",
    "&",
    "|",
    "<",
    ">",
    "#",
    "*",
    "''",
    '""',
    "\\\n",
)


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Attack, str]:
    attack = draw(st.sampled_from(ATTACKS))
    line = attack.line
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, min(len(line), 200)))
        match draw(st.sampled_from(["front", "back", "insert", "drop", "twice"])):
            case "front":
                line = draw(st.sampled_from(FRONTS)) + line
            case "back":
                line += draw(st.sampled_from(BACKS))
            case "insert":
                line = line[:at] + draw(st.sampled_from(INSERTS)) + line[at:]
            case "drop":
                line = line[:at] + line[at + 1 :]
            case "twice":
                line = line[:at] + line[at : at + 1] + line[at:]
    return attack, line


@given(mutations())
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_mutation_of_an_attack_is_allowed_and_still_runs(
    prepared: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, case: tuple[Attack, str]
) -> None:
    attack, line = case
    folder = prepared.get(attack.setup) or tmp_path_factory.getbasetemp()
    if "allow" in verdicts(attack, line, folder) and attack.can_run:
        assert not creates_marker(attack, line, tmp_path_factory.mktemp("mutation")), line


@pytest.fixture(scope="module")
def everyday(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layout(tmp_path_factory.mktemp("everyday"))


@st.composite
def requoted(draw: st.DrawFn) -> tuple[str, str]:
    """A command of plain words, and the same words quoted in other ways."""
    command = draw(st.sampled_from([each for each in EVERYDAY if re.fullmatch(r"[A-Za-z0-9 ./:-]+", each)]))
    words = []
    for word in command.split():
        match draw(st.sampled_from(["plain", "single", "double", "escaped", "halves"])):
            case "single":
                words.append(f"'{word}'")
            case "double":
                words.append(f'"{word}"')
            case "escaped":
                words.append("".join(f"\\{char}" for char in word))
            case "halves":
                words.append(f"'{word[:2]}'\"{word[2:]}\"")
            case _:
                words.append(word)
    return command, draw(st.sampled_from([" ", "  ", "\t"])).join(words)


@given(requoted())
@settings(max_examples=200, deadline=None)
def test_other_quotes_change_neither_what_is_read_nor_the_verdict(
    everyday: Path, case: tuple[str, str]
) -> None:
    command, other = case
    before, after = parse(command), parse(other)
    assert not isinstance(before, Unreadable)
    assert not isinstance(after, Unreadable), (other, after.reason)
    assert [part.argv for part in before] == [part.argv for part in after]
    judged = Permissions(EVERYDAY_RULES).judge("Bash", {"command": other}, cwd=everyday)
    assert judged.behavior == "allow", (other, judged.reason)


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_gets_a_verdict(line: str) -> None:
    permissions = Permissions(PermissionRules(allow=["Bash(git *)"], deny=["Bash(rm *)"]))
    assert permissions.judge("Bash", {"command": line}, cwd=Path("/work")).behavior in {
        "allow",
        "ask",
        "deny",
    }
