from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from loopback import DONE, HANG, Answer, LoopbackServer, Request, finish, say, text, tool_call, usage

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
HURRIED = """
import runpy, sys
from agent_tui_core.providers.demo import demo_provider
demo_provider.__kwdefaults__["pace"] = 0.0
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""
"""Runs an example as it is, but the demo model speaks as fast as it can."""


@dataclass(frozen=True)
class Ran:
    """What one example shows: with the demo model, and with the server that answers like this."""

    demo: tuple[str, ...]
    answers: tuple[Answer, ...]
    served: tuple[str, ...]
    typed: str = ""
    results: dict[int, str] = field(default_factory=dict)
    """Of which request, and how its last message begins."""


def calls(name: str, arguments: dict[str, object]) -> Answer:
    return Answer(text("Wait. "), tool_call("c1", name, arguments), finish("tool_calls"), DONE)


def long_answer() -> Answer:
    return Answer(text("number " * 300), finish(), usage(700, 300), DONE)


RAN: dict[str, Ran] = {
    "one_shot": Ran(("I am the demo model",), (say("A model."),), ("A model.",)),
    "chat": Ran(
        ("I am the demo model", "(4 messages)"),
        (say("Hello!"), say("Bye!")),
        ("> Hello!", "> Bye!", "(4 messages)"),
        typed="hi\n\nsee you\n",
    ),
    "tools_by_hand": Ran(
        ("-> add {'a': 17, 'b': 25}", "begins with “42"),
        (calls("add", {"a": 17, "b": 25}), say("It is 42.")),
        ("Wait. ", "-> add", "It is 42."),
        results={1: "42"},
    ),
    "automatic_tools": Ran(
        ("Lisbon", "***", "-> denied: Atlantis has sunk"),
        (
            calls("weather", {"city": "lisbon"}),
            say("Warm."),
            calls("weather", {"city": "Atlantis"}),
            say("Oh."),
        ),
        (
            '{"city": "Lisbon", "degrees": 21, "station_key": "***"}',
            "Warm.",
            "-> denied: Atlantis has sunk",
            "Oh.",
        ),
        results={1: '{"city": "Lisbon"', 3: "Denied by a hook: Atlantis has sunk"},
    ),
    "interrupting": Ran(
        ("(interrupted; kept: ", "I am the demo model"),
        (Answer(text("1 2 3 "), HANG), say("Yes.")),
        ("1 2 3 ", "(interrupted; kept: 6 characters)", "Yes."),
    ),
    "several_agents": Ran(
        ("[ada] I am the demo model", "[bob] completed after 2 requests", "[cleo] completed"),
        tuple(say("Nothing is here.") for _ in range(3)),
        ("[ada] Nothing is here.", "[bob] completed after 1 requests", "[cleo] Nothing is here."),
    ),
    "session_with_tools": Ran(
        ("-> allowed: measure {'side': 3}", "-> 9.0 mm²", "(completed, 4 messages)"),
        (calls("measure", {"side": 3}), say("9 mm².")),
        ("-> allowed: measure {'side': 3}", "-> 9.0 mm²", "9 mm².", "(completed, 4 messages)"),
        results={1: "9.0 mm²"},
    ),
    "outside_result": Ran(
        ('begins with “{"parcel": "A7", "kg": 3.2}”', "(still open: 0)"),
        (calls("weigh", {"parcel": "A7"}), say("3.2 kg.")),
        ("3.2 kg.", "(still open: 0)"),
        results={1: '{"parcel": "A7", "kg": 3.2}'},
    ),
    "vision": Ran(("Which colour has this picture?",), (say("Red."),), ("Red.",)),
    "long_conversation": Ran(
        ("(forgotten: 4 messages, kept: 4)", "(summarised: ", "(history is whole: 6 messages)"),
        (*(long_answer() for _ in range(4)), say("Numbers were said."), say("2 and 3.")),
        ("(forgotten: 4 messages, kept: 4)", "(summarised: ", "2 and 3.", "(history is whole: 6 messages)"),
    ),
}


async def run(name: str, folder: Path, typed: str, *, hurried: bool = False, **environment: str) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "AGENT_TUI_"))}
    own = {"AGENT_TUI_CONFIG_DIR": str(folder), "PYTHONPATH": str(ROOT / "core"), **environment}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-X", "dev", *(("-c", HURRIED) if hurried else ())),
        str(EXAMPLES / f"{name}.py"),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=kept | own,
    )
    try:
        async with asyncio.timeout(40):
            out, err = await child.communicate(typed.encode())
    except TimeoutError:
        child.kill()
        await child.wait()
        raise
    complaints = [line for line in err.decode().splitlines() if not line.startswith("Executing <")]
    assert (child.returncode, complaints) == (0, []), err.decode()
    return out.decode()


def test_every_example_is_run_and_small() -> None:
    files = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert set(files) == set(RAN)
    assert all(len(source.splitlines()) <= 60 for source in files.values())


@pytest.mark.parametrize("name", RAN)
async def test_an_example_runs_without_a_server(name: str, tmp_path: Path) -> None:
    shown = await run(name, tmp_path, RAN[name].typed, hurried=name != "interrupting")
    for words in RAN[name].demo:
        assert words in shown


@pytest.mark.parametrize("name", RAN)
async def test_an_example_runs_with_a_server(name: str, tmp_path: Path) -> None:
    ran = RAN[name]
    async with LoopbackServer(ran.answers) as server:
        shown = await run(
            name, tmp_path, ran.typed, OPENAI_BASE_URL=server.base_url, AGENT_TUI_MODEL="some/model"
        )
        assert not server.answers
    for words in ran.served:
        assert words in shown
    assert {asked(request)["model"] for request in server.requests} == {"some/model"}
    for number, beginning in ran.results.items():
        last = asked(server.requests[number])["messages"][-1]
        assert (last["role"], last["content"][: len(beginning)]) == ("tool", beginning)


async def test_the_picture_of_the_vision_example_reaches_the_server(tmp_path: Path) -> None:
    async with LoopbackServer([say("Red.")]) as server:
        await run("vision", tmp_path, "", OPENAI_BASE_URL=server.base_url)
    [_, picture] = asked(server.requests[0])["messages"][0]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")


def test_the_readme_names_every_example() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in RAN if f"{name}.py" not in readme] == []


def asked(request: Request) -> Any:
    return request.json
