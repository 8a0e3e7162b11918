"""What we read of a command line is what bash makes of it: the same words for the same programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui_core.agent.shell_parse import parse
from agent_tui_core.agent.shell_words import Unreadable

_DUMP = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["SEEN"], "a") as seen:
    seen.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
"""
_PLAIN = st.text("abxyz09_./:@%+,=^#-é漢", min_size=1, max_size=6)
_QUOTED = st.text("ab $`\\\"'{}()[]*?!~;&|<>#\téß", max_size=8)


_BRACED = ("plain", "plain", "braces", "range")
_UNBRACED = ("plain", "plain", "single", "double", "escaped", "sum", "variable", "variable", "odd")


@st.composite
def words(draw: st.DrawFn, variables: tuple[str, ...] = ()) -> str:
    pieces = []
    braced = draw(st.integers(0, 3)) == 0
    kinds = _BRACED if braced else _UNBRACED
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(kinds))
        match kind:
            case "plain":
                pieces.append(draw(_PLAIN))
            case "single":
                pieces.append("'" + draw(_QUOTED).replace("'", "") + "'")
            case "double":
                inner = draw(_QUOTED)
                for special in '\\"$`':
                    inner = inner.replace(special, "\\" + special)
                pieces.append(f'"{inner}"')
            case "escaped":
                pieces.append(
                    "".join("\\" + char for char in draw(st.text("ab $`'{}()[]*?!~;&|<>#", max_size=3)))
                )
            case "braces":
                inner = ",".join(draw(st.lists(st.text("abc01./-", max_size=3), min_size=1, max_size=3)))
                pieces.append("{" + inner + "}")
            case "range":
                first, last = draw(st.tuples(st.integers(-3, 4), st.integers(-3, 4)))
                pieces.append(f"{{{first}..{last}}}")
            case "sum":
                sign = draw(st.sampled_from("+-*/%"))
                pieces.append(f"$(({draw(st.integers(0, 40))} {sign} {draw(st.integers(0, 9))}))")
            case "variable" if variables:
                name = draw(st.sampled_from(variables))
                pieces.append(
                    draw(st.sampled_from([f"${name}", f'"${name}"', f'"${{{name}}}x"', f"${{{name}}}"]))
                )
            case _:
                pieces.append(
                    draw(
                        st.sampled_from(
                            ["{", "}", "{}", "[", "]", "!", "~x", "a{b", "a}b", "x{}", "{a}", "\\"]
                        )
                    )
                )
    return "".join(pieces)


@st.composite
def commands(draw: st.DrawFn, variables: tuple[str, ...] = (), depth: int = 0) -> str:
    kinds = ["simple"] * 4 + (
        ["for", "group", "subshell", "if", "while", "pipe", "not", "document"] if depth < 2 else []
    )
    kind = draw(st.sampled_from(kinds))
    inner = commands(variables, depth + 1)
    match kind:
        case "for":
            name = draw(st.sampled_from(["f", "g"]))
            values = draw(st.lists(words(variables), min_size=1, max_size=3))
            body = draw(commands((*variables, name), depth + 1))
            end = draw(st.sampled_from(["; ", "\n", " ;\n "]))
            return (
                f"for {name} in {' '.join(values)}{end}do {body}{draw(st.sampled_from(['; ', chr(10)]))}done"
            )
        case "group":
            return f"{{ {draw(inner)}; }}"
        case "subshell":
            return f"({draw(inner)})"
        case "if":
            return f"if {draw(inner)}; then {draw(inner)}; else {draw(inner)}; fi"
        case "while":
            return f"while ! dump w; do {draw(inner)}; done"
        case "pipe":
            return f"{draw(inner)} | {draw(inner)}"
        case "not":
            return f"! {draw(inner)}"
        case "document":
            text = draw(st.text("ab $`'\"\\(){}\n", max_size=12))
            return f"dump d <<'END'\n{text}\nEND\ndump after"
        case _:
            between = draw(st.sampled_from([" ", "  ", "\t", " \\\n "]))
            return between.join(["dump", *draw(st.lists(words(variables), max_size=3))])


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "dump").write_text(_DUMP)
    (folder / "dump").chmod(0o755)
    return folder


@given(st.lists(commands(), min_size=1, max_size=2), st.sampled_from(["; ", " && ", " || ", "\n", " & "]))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_bash_starts_is_what_was_read(programs: Path, parts: list[str], between: str) -> None:
    line = between.join(parts)
    read = parse(line)
    if isinstance(read, Unreadable) or any(word.stars for part in read for word in part.words):
        return
    seen = programs / "seen"
    seen.write_text("")
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "SEEN": str(seen), "HOME": "/h", "LC_ALL": "C.UTF-8"}
    subprocess.run(
        ["bash", "-c", f"{line}\nwait"], env=environment, cwd=programs, stdin=subprocess.DEVNULL, timeout=30
    )
    started = [json.loads(each) for each in seen.read_text().splitlines()]
    expected = [list(part.argv) for part in read]
    # Conditions leave commands out; none may be there that was not read.
    assert [each for each in started if each not in expected] == [], (line, expected)
