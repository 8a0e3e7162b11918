"""What a server may do to us: nothing but fail its own calls."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from agent_tui_core.errors import ToolError
from agent_tui_core.tools.mcp_names import LONGEST_DESCRIPTION, MOST_TOOLS, listed, named, server_of
from agent_tui_core.tools.registry import ToolRegistry
from mcp_servers import bench


async def test_ten_thousand_tools_are_bounded_and_the_loop_goes_on(tmp_path: Path) -> None:
    async with bench(tmp_path, "many") as here:
        lag = asyncio.create_task(_longest_pause())
        server = await here.started()
        lag.cancel()
        assert (len(server.tools), server.left_out) == (MOST_TOOLS, 10_000 - MOST_TOOLS)


async def _longest_pause() -> None:
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.01)
        assert time.monotonic() - began < 3


async def test_control_characters_of_a_server_reach_neither_names_nor_descriptions(tmp_path: Path) -> None:
    async with bench(tmp_path, "controls") as here:
        server = await here.started()
        tool = next(
            one for one in server.tools if "beep" not in one.name and one.name.startswith("mcp__test__be")
        )
        assert tool.name == "mcp__test__be__2Jep"
        assert tool.description == "It beeps. [@click=app.quit]now[/]"
        assert (await tool.execute({"text": "x"}, _context(tmp_path))).content.startswith("be\x1b[2Jep: x")


async def test_garbage_between_the_messages_is_dropped(tmp_path: Path) -> None:
    async with bench(tmp_path, "garbage") as here:
        await here.started()
        assert (await here.call("echo", "x")).content == "echo: x"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("flood", "writes something else than MCP to its standard output"),
        ("endless", "sent a message of more than 8 MiB"),
    ],
)
async def test_a_flood_ends_the_connection_with_words(tmp_path: Path, mode: str, words: str) -> None:
    async with bench(tmp_path, mode) as here:
        server = await here.started()
        assert words in server.why


async def test_a_huge_result_is_cut_and_one_beyond_all_bounds_is_an_error(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.started()
        output = await here.call("flood")
        assert len(output.content) < 31_000
        assert "bytes left out here; the whole output can be read in" in output.content
        with pytest.raises(ToolError, match="a message of more than 8 MiB"):
            await here.call("flood", "more")
        assert (await here.call("echo", "x")).content == "echo: x"


async def test_a_schema_that_would_be_checked_for_ever_is_not_checked(tmp_path: Path) -> None:
    async with bench(tmp_path, "evil-schema") as here:
        server = await here.started()
        registry = ToolRegistry(server.tools)
        began = time.process_time()
        for name in ("backtrack", "double"):
            tool = registry.get(f"mcp__test__{name}")
            assert tool is not None
            assert registry.check(tool, {"text": "a" * 40 + "!"}) is None
        assert (await here.call("backtrack")).content.startswith('{"text": "aaa')
        assert time.process_time() - began < 2


async def test_a_schema_that_is_broken_or_elsewhere_makes_its_calls_errors(tmp_path: Path) -> None:
    async with bench(tmp_path, "evil-schema") as here:
        server = await here.started()
        registry = ToolRegistry(server.tools)
        for name in ("remote", "broken"):
            tool = registry.get(f"mcp__test__{name}")
            assert tool is not None
            assert "the schema of" in (registry.check(tool, {"text": "x"}) or "")


async def test_what_a_server_says_of_a_tool_approves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        server = await here.started()
        safe = next(tool for tool in server.tools if tool.name == "mcp__test__safe")
        assert safe.writes


async def test_pictures_are_shown_and_everything_else_is_named(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.started()
        output = await here.call("picture")
        assert [image.url.partition(",")[0] for image in output.images] == ["data:image/png;base64"]
        assert output.content.splitlines() == [
            "[sound: audio/wav, 9 bytes, not shown]",
            "[resource passwd: file:///etc/passwd]",
            "[memo:1]",
            "a memo",
        ]


async def test_a_structured_result_is_read_where_there_is_no_text(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.started()
        assert (await here.call("safe")).content == '{"answer": 42}'


async def test_a_result_that_is_an_error_is_one(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.started()
        output = await here.call("fails")
        assert (output.content, output.is_error) == ("it went wrong", True)


async def test_progress_is_reported_in_clean_lines(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.started()
        await here.call("progress")
        lines = [f"{number} of 3: step {number}\n" for number in (1, 2, 3)]
        assert here.reported[0] == lines[0]
        assert here.reported == [line for line in lines if line in here.reported], "some may come too fast"


async def test_a_list_that_changes_is_there_for_the_next_request(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        server = await here.started()
        before = server.tools
        await here.call("grow")
        async with asyncio.timeout(10):
            while server.tools is before:
                await asyncio.sleep(0.01)
        assert (await here.call("grown", "x")).content == "grown: x"


async def test_a_tool_that_changed_since_it_was_described_is_not_run(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        server = await here.started()
        old = next(tool for tool in server.tools if tool.name == "mcp__test__echo")
        server._listed = {**server._listed, "echo": server._listed["never"]}
        with pytest.raises(
            ToolError, match="the tool echo of the MCP server test changed since it was described"
        ):
            await old.execute({}, _context(tmp_path))
        assert here.heard("tools/call") == []


# --- names --------------------------------------------------------------------------------------------------


def test_names_fit_every_provider_and_no_two_are_alike() -> None:
    raw = ["plain", "with.dot", "with_dot", "with dot", "x" * 100, "x" * 100 + "y", "ünï", "-", ""]
    tools, left_out = listed({"name": name, "inputSchema": {"type": "object"}} for name in [*raw, "plain"])
    names = named("a-server", tools)
    assert left_out == 2
    assert len(names) == len(tools)
    assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() for name in names)
    assert names["mcp__a-server__with_dot"].name == "with_dot"
    assert names["mcp__a-server__plain"].name == "plain"
    assert {server_of(name) for name in names} == {"a-server"}


def test_a_name_does_not_depend_on_the_order_of_the_list() -> None:
    tools, _ = listed({"name": name, "inputSchema": {"type": "object"}} for name in ("a.b", "a_b", "a b"))
    there = {tool.name: name for name, tool in named("s", tools).items()}
    back = {tool.name: name for name, tool in named("s", tools[::-1]).items()}
    assert there == back


def test_a_description_is_cut_and_counts_whole_for_its_hash() -> None:
    long = "word " * 10_000
    (one, other), _ = listed(
        {"name": name, "description": f"{long}{end}", "inputSchema": {"type": "object"}}
        for name, end in (("a", "1"), ("b", "2"))
    )
    assert len(one.description) == LONGEST_DESCRIPTION
    assert one.description == other.description
    assert one.digest != other.digest


def _context(folder: Path):  # type: ignore[no-untyped-def]
    from agent_tui_core.tools.base import ToolContext

    return ToolContext(folder)
