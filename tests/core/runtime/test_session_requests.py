"""Whole sessions: how their servers are asked, and how many of their requests go on at once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.runtime.session import open_session
from loopback import DONE, Answer, LoopbackServer, Request, finish, json_answer, say, text
from sessions import Reader, settled

SECRET = "azure-0123456789"


def planned(base_url: str, folder: Path, provider: str = "", agent: str = "", count: int = 1) -> Plan:
    config, workspace = folder / "config", folder / "workspace"
    config.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    (config / "config.toml").write_text(
        f'[providers.mine]\nbase_url = "{base_url}"\n{provider}\n[agents.a]\nmodel = "m"\n{agent}\n'
    )
    environ = {"AGENT_TUI_DATA_DIR": str(folder / "data"), "AGENT_TUI_CONFIG_DIR": str(config)}
    flags = Flags(workspace=workspace, count=count)
    return plan(load_settings(None, environ=environ), flags, environ | {"AZURE_KEY": SECRET})


async def test_headers_and_options_go_with_each_request_also_after_a_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_KEY", SECRET)
    provider = 'headers_env = { api-key = "AZURE_KEY" }\nextra_body = { a = 1 }'
    agent = 'seed = 7\nstop = ["END"]\nreasoning_effort = "low"\nextra_body = { top_k = 40 }'
    async with LoopbackServer([say("one"), say("two")]) as server:
        made = planned(f"{server.base_url}?api-version=9", tmp_path, provider, agent)
        async with open_session(made) as session:
            session.workers[0].prompt("hi")
            await settled(session)
        async with open_session(made, resume="") as again:
            again.workers[0].prompt("and?")
            await settled(again)
    wanted: dict[str, Any] = {"seed": 7, "stop": ["END"], "reasoning_effort": "low", "a": 1, "top_k": 40}
    for asked in server.requests:
        assert asked.path.endswith("?api-version=9")
        assert asked.headers["api-key"] == SECRET
        assert {name: asked.json.get(name) for name in wanted} == wanted
    for file in (tmp_path / "data").rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()


async def test_a_server_that_shall_not_be_asked_again_is_not(tmp_path: Path) -> None:
    async with LoopbackServer([json_answer({"error": {"message": "busy"}}, status=503)]) as server:
        async with open_session(planned(server.base_url, tmp_path, "retries = 0")) as session:
            session.workers[0].prompt("hi")
            await settled(session)
            assert session.workers[0].state == "failed"
    assert len(server.requests) == 1


async def test_agents_over_the_cap_are_queued_in_words_and_can_be_interrupted_at_once(tmp_path: Path) -> None:
    release = asyncio.Event()

    def script(request: Request) -> Answer:
        return Answer(text("so "), release, text(f"said {request.number}"), finish(), DONE)

    async with LoopbackServer(script) as server:
        made = planned(server.base_url, tmp_path, "max_concurrent_requests = 1", count=3)
        async with open_session(made) as session:
            readers = [Reader(worker) for worker in session.workers]
            first, second, third = session.workers
            for reader in readers:
                reader.worker.prompt(f"go {reader.worker.name}")
                words = {readers[0]: "", readers[1]: "next in line", readers[2]: "1 before it"}[reader]
                state = "queued" if words else "streaming"
                await reader.until(
                    lambda transcript, state=state, words=words: (  # type: ignore[misc]
                        transcript.state == state and words in transcript.detail
                    )
                )
            assert second.busy
            async with asyncio.timeout(1):
                assert second.interrupt()
                await second.idle()
            assert second.state == "interrupted"
            assert first.state == "streaming"
            release.set()
            await settled(session)
            assert third.conversation.messages[-1].text == "so said 1"
            assert server.open_most == 1
            second.prompt("again")
            await settled(session)
            assert second.conversation.messages[-1].text == "so said 2"
