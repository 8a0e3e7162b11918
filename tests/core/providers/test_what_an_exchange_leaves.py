"""An exchange that is over is gone from memory, with all that was sent: without a walk of the collector."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.errors import without_frames
from agent_tui_core.providers.direct import DirectClient
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from agent_tui_core.runtime.session import open_session
from loopback import Answer, LoopbackServer, say
from protocols import collected, words


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[httpx.Request]]:
    """Every request that a client sent."""
    found: list[weakref.ref[httpx.Request]] = []
    send = DirectClient.send

    async def watched(client: DirectClient, request: httpx.Request, *, stream: bool) -> httpx.Response:
        found.append(weakref.ref(request))
        return await send(client, request, stream=stream)

    monkeypatch.setattr(DirectClient, "send", watched)
    return found


async def test_an_answer_that_was_read_is_gone(sent: list[weakref.ref[httpx.Request]]) -> None:
    async with LoopbackServer([say("Done.")]) as server, http_client(idle_timeout=5.0) as client:
        assert words(await collected(OpenAIProvider(client, server.base_url))) == "Done."
        assert [each() for each in sent] == [None]


async def test_a_run_that_failed_keeps_nothing_of_what_it_sent(
    tmp_path: Path, sent: list[weakref.ref[httpx.Request]]
) -> None:
    environ = {"AGENT_TUI_DATA_DIR": str(tmp_path / "data"), "AGENT_TUI_CONFIG_DIR": str(tmp_path / "config")}
    (tmp_path / "workspace").mkdir()
    answers = [Answer(b"no", status=400, content_type="text/plain")]
    async with LoopbackServer(answers) as server:
        flags = Flags(base_url=server.base_url, model="m", workspace=tmp_path / "workspace")
        planned = plan(load_settings(None, environ=environ), flags, environ)
        async with open_session(planned) as session:
            worker = await session.add_worker()
            worker.prompt("go")
            async with asyncio.timeout(20):
                await worker.idle()
            assert worker.state == "failed"
            assert sent and [each() for each in sent] == [None] * len(sent)


def test_an_error_loses_its_frames_even_when_its_causes_are_a_circle() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    for each in (first, second):
        try:
            raise each
        except ValueError:
            pass
    assert without_frames(first) is first
    assert first.__traceback__ is second.__traceback__ is None
