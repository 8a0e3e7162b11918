"""A path that no file can have is the model's mistake: its call ends with an error, its run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui_core.runtime.entries import ToolEntry
from agent_tui_core.runtime.session import open_session
from loopback import LoopbackServer, say
from sessions import Reader, planned, settled, tool_answer


@pytest.mark.parametrize("tool", ["Read", "Write", "Glob"])
async def test_a_path_with_a_nul_in_it_is_an_error_that_the_model_reads(tmp_path: Path, tool: str) -> None:
    arguments: dict[str, object] = {"file_path": "a\0b"}
    if tool == "Write":
        arguments["content"] = "x"
    if tool == "Glob":
        arguments = {"pattern": "*", "path": "a\0b"}
    async with LoopbackServer([tool_answer(tool, arguments), say("I see.")]) as server:
        async with open_session(planned(server.base_url, tmp_path)) as session:
            reader = Reader(session.workers[0])
            session.workers[0].prompt("go")
            await settled(session)
            transcript = reader.read()
    [call] = [entry for entry in transcript.entries if isinstance(entry, ToolEntry)]
    assert call.status == "error"
    assert call.result is not None
    assert "it holds a NUL" in call.result.content
    assert transcript.state == "idle"
