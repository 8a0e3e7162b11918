"""What a server may ask of us during a call."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from agent_tui_core.blocks import JsonObject
from agent_tui_core.tools.mcp_values import Question, ServerSpec
from mcp_servers import bench, until

SDK = ServerSpec("sdk", sys.executable, (str(Path(__file__).parents[2] / "mcp_sdk_server.py"),))


class Person:
    """Answers questions, or lets them wait."""

    def __init__(self, answer: JsonObject | None = None, *, waits: bool = False) -> None:
        self.asked: list[Question] = []
        self.withdrawn = 0
        self.go_on = asyncio.Event()
        self._answer = answer
        if not waits:
            self.go_on.set()

    async def __call__(self, question: Question) -> JsonObject | None:
        self.asked.append(question)
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        return self._answer


async def test_a_question_of_a_server_is_a_form_for_a_person(tmp_path: Path) -> None:
    person = Person({"name": "Ann"})
    async with bench(tmp_path, "elicit", ask=person) as here:
        await here.started()
        output = await here.call("form")
        assert json.loads(output.content) == {"action": "accept", "content": {"name": "Ann"}}
        (asked,) = person.asked
        assert (asked.server, asked.message, asked.agent_id) == ("test", "Which one?", "agent")
        assert "name" in asked.schema["properties"]  # type: ignore[operator]


async def test_a_person_who_declines_is_no_person_who_goes_away(tmp_path: Path) -> None:
    async with bench(tmp_path, "elicit", ask=Person(None)) as here:
        await here.started()
        assert json.loads((await here.call("form")).content) == {"action": "decline"}


async def test_an_address_to_open_is_shown_and_never_opened(tmp_path: Path) -> None:
    person = Person({})
    async with bench(tmp_path, "elicit", ask=person) as here:
        await here.started()
        assert json.loads((await here.call("link")).content) == {"action": "accept"}
        (asked,) = person.asked
        assert "https://example.org/in" in asked.message
        assert "nothing was opened" in asked.message


async def test_a_question_of_the_newest_protocol_is_a_form_as_well(tmp_path: Path) -> None:
    person = Person({"name": "Ann"})
    async with bench(tmp_path, spec=SDK, ask=person) as here:
        assert (await here.started()).greeting.protocol == "2026-07-28"
        assert (await here.call("invite")).content == "Ann is invited"
        (asked,) = person.asked
        assert (asked.message, asked.agent_id, asked.call_key) == ("Who comes?", "agent", "call")


async def test_a_change_is_heard_in_the_newest_protocol_too(tmp_path: Path) -> None:
    async with bench(tmp_path, spec=SDK) as here:
        server = await here.started()
        assert (await here.call("grow")).content == "grown"
        await until(lambda: server.changes == "new: grown")


async def test_without_a_person_a_server_hears_that_nobody_can_be_asked(tmp_path: Path) -> None:
    async with bench(tmp_path, "elicit") as here:
        await here.started()
        assert "not supported" in json.loads((await here.call("form")).content)["message"]
        assert "elicitation" not in here.heard("initialize")[0]["params"]["capabilities"]


async def test_an_interrupt_withdraws_the_question(tmp_path: Path) -> None:
    person = Person(waits=True)
    async with bench(tmp_path, "elicit", ask=person) as here:
        await here.started()
        call = asyncio.create_task(here.call("form"))
        await until(lambda: person.asked)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: person.withdrawn == 1)


async def test_the_clock_of_a_call_stands_still_while_a_person_thinks(tmp_path: Path) -> None:
    person = Person({"name": "slow"}, waits=True)
    async with bench(tmp_path, "elicit", ask=person, timeout=0.5) as here:
        await here.started()
        call = asyncio.create_task(here.call("form"))
        await until(lambda: person.asked)
        await asyncio.wait({call}, timeout=0.8)  # longer than a call may take
        assert not call.done()
        person.go_on.set()
        assert json.loads((await call).content)["action"] == "accept"


async def test_roots_are_the_workspace_and_sampling_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.started()
        assert json.loads((await here.call("roots")).content) == {"roots": [{"uri": tmp_path.as_uri()}]}
        assert "Sampling not supported" in (await here.call("sample")).content
        assert "sampling" not in here.heard("initialize")[0]["params"]["capabilities"]
