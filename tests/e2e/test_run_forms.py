"""What MCP servers ask during `agent-tui run --json --approve ask`: a program fills it in, or nobody does."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from headless_program import started
from headless_schema import check_line
from loopback import LoopbackServer, call, say
from mcp_servers import SCRIPT

PIPE = asyncio.subprocess.PIPE
ASK = ("run", "--json", "--approve", "ask", "--approve", "mcp__test")


def configured(folder: Path) -> None:
    for name in ("config", "server"):
        (folder / name).mkdir()
    arguments = ["-S", "-E", str(SCRIPT), str(folder / "server"), "elicit"]
    (folder / "config" / "config.toml").write_text(
        f"[mcp.servers.test]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps(arguments)}\n"
    )


async def test_a_program_fills_in_what_a_server_asks_for(tmp_path: Path) -> None:
    configured(tmp_path)
    async with LoopbackServer([call("mcp__test__form", {}), say("ok")]) as model:
        async with started(tmp_path, *ASK, "go", base_url=model.base_url, stdin=PIPE) as program:
            form = (await program.until_type("FormRequested"))["form"]
            assert (form["kind"], form["source"]) == ("elicitation", "MCP server test")
            assert form["schema"]["required"] == ["name"]
            refused = [{}, {"name": "Ann", "age": 3}, {"name": {"first": "Ann"}}]
            for content in refused:
                program.send(type="form", form_id=form["id"], content=content)
                await program.until_type("InputRefused")
            program.send(type="form", form_id=form["id"], content={"name": "Ann"})
            assert (await program.until_type("FormSettled"))["form_id"] == form["id"]
            program.send(type="form", form_id=form["id"])
            assert "no such form is open" in (await program.until_type("InputRefused"))["reason"]
            ended = await program.end()
        told = model.requests[1].json["messages"][-1]["content"]
    assert ended.code == 0
    assert json.loads(told)["content"] == {"name": "Ann"}
    for line in ended.lines:
        check_line(line)


async def test_a_program_that_declines_and_one_that_left_are_heard_as_such(tmp_path: Path) -> None:
    configured(tmp_path)
    for leaves in (False, True):
        async with LoopbackServer([call("mcp__test__form", {}), say("ok")]) as model:
            async with started(tmp_path, *ASK, "go", base_url=model.base_url, stdin=PIPE) as program:
                form = (await program.until_type("FormRequested"))["form"]
                if not leaves:
                    program.send(type="form", form_id=form["id"])
                    await program.until_type("FormSettled")
                ended = await program.end()
            told = model.requests[1].json["messages"][-1]["content"]
        assert ended.code == 0
        assert json.loads(told)["action"] == "decline"


async def test_where_nobody_answers_a_server_hears_that_nobody_can_be_asked(tmp_path: Path) -> None:
    configured(tmp_path)
    async with LoopbackServer([call("mcp__test__form", {}), say("ok")]) as model:
        arguments = ("run", "--json", "--approve", "mcp__test", "go")
        async with started(tmp_path, *arguments, base_url=model.base_url) as program:
            ended = await program.end()
    assert ended.code == 0
    assert ended.of_type("FormRequested") == []
