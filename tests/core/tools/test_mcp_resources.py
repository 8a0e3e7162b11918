"""What a server offers to be read: by a tool of its own, and only what the server itself named."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.base import ToolContext, ToolOutput
from agent_tui_core.tools.mcp_names import server_of
from agent_tui_core.tools.mcp_tools import server_tools
from agent_tui_core.tools.mcp_values import ListedTool, ServerSpec
from mcp_servers import Bench, bench

SCRIPT = Path(__file__).parents[2] / "mcp_task_server.py"
SDK_SERVER = SCRIPT.with_name("mcp_sdk_server.py")


@asynccontextmanager
async def serving(folder: Path, *modes: str) -> AsyncIterator[Bench]:
    (folder / "server").mkdir()
    arguments = ("-S", "-E", str(SCRIPT), str(folder / "server"), *modes)
    async with bench(folder, spec=ServerSpec("test", sys.executable, arguments)) as here:
        await here.started()
        yield here


async def read(here: Bench, uri: str = "") -> ToolOutput:
    [tool] = [one for one in here.server.tools if one.name == "mcp__test__read_resource"]
    return await tool.execute({"uri": uri} if uri else {}, ToolContext(here.folder))


async def test_a_link_of_a_result_can_be_read_and_not_before_it_was_given(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        with pytest.raises(ToolError, match="never named"):
            await read(here, "memo://linked")
        assert here.heard("resources/read") == []
        assert "memo://linked" in (await here.call("links")).content
        assert (await read(here, "memo://linked")).content == "[memo://linked]\nwhat was linked"


async def test_a_server_that_lists_nothing_has_the_tool_once_it_linked_to_something(tmp_path: Path) -> None:
    async with serving(tmp_path, "no-list") as here:
        before = here.server.tools
        assert [tool.name for tool in before if "resource" in tool.name] == []
        await here.call("links")
        assert [tool.name for tool in here.server.tools if tool not in before][
            -1
        ] == "mcp__test__read_resource"
        assert (await read(here, "memo://linked")).content == "[memo://linked]\nwhat was linked"


async def test_without_a_uri_it_lists_what_there_is_in_clean_words(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        content = (await read(here)).content
        assert "- memo://listed" in content
        assert "- memo://of/{who} memos" in content
        assert "\x1b" not in content


async def test_what_is_listed_or_made_from_a_template_is_read(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        assert "what was listed" in (await read(here, "memo://listed")).content
        assert "of ann" in (await read(here, "memo://of/ann")).content


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "http://127.0.0.1/x",
        "memo://of",
        "memo://of/../../etc",
        "memo://of/%2e%2e/x",
        "x",
    ],
)
async def test_what_the_server_never_named_is_asked_of_nobody(tmp_path: Path, uri: str) -> None:
    async with serving(tmp_path) as here:
        with pytest.raises(ToolError, match="never named"):
            await read(here, uri)
        assert here.heard("resources/read") == []


async def test_pictures_are_given_sounds_named_and_long_texts_cut(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        picture = await read(here, "picture://1")
        assert len(picture.images) == 1
        assert (await read(here, "sound://1")).content == "[sound://1: audio/wav, 3 bytes, not shown]"
        here.server._linked._keep("memo://long")
        assert len((await read(here, "memo://long")).content) < 40_000


async def test_rules_and_doubts_of_the_server_hold_for_the_tool(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        [tool] = [one for one in here.server.tools if "resource" in one.name]
        assert server_of(tool.name) == "test"
        assert tool.writes


async def test_a_server_of_the_sdk_is_read_and_its_pictures_come_once(tmp_path: Path) -> None:
    spec = ServerSpec("test", sys.executable, (str(SDK_SERVER),))
    async with bench(tmp_path, spec=spec) as here:
        await here.started()
        assert "memo://house/rules" in (await read(here)).content
        assert "no shoes" in (await read(here, "memo://house/rules")).content
        assert "ann likes tea" in (await read(here, "memo://guest/ann")).content
        drawn = await here.call("draw")
        assert len(drawn.images) == 1
        assert drawn.content == ""


def test_a_servers_own_tool_of_that_name_stays_the_servers(tmp_path: Path) -> None:
    async def call(listed: ListedTool, _input: object, _context: object) -> ToolOutput:
        return ToolOutput(listed.name)

    async def read_one(uri: str, _context: object) -> ToolOutput:
        return ToolOutput(uri)

    own = [ListedTool(name, "", {"type": "object"}, "") for name in ("read_resource", "read_mcp_resource")]
    assert [one.name for one in server_tools("s", own[:1], call, read_one)] == [
        "mcp__s__read_resource",
        "mcp__s__read_mcp_resource",
    ]
    assert len(list(server_tools("s", own, call, read_one))) == 2
