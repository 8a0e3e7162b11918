import os
import subprocess
import sys
from collections.abc import AsyncIterator

import httpx
import pytest

from agent_tui_core.errors import (
    BadRequest,
)
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from loopback import (
    LoopbackServer,
    json_answer,
    say,
)
from protocols import collected, words


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with http_client(idle_timeout=5.0) as made:
        yield made


async def test_stream_options_are_left_out_for_a_server_that_refuses_them(client: httpx.AsyncClient) -> None:
    refusal = json_answer({"error": {"message": "Unknown parameter: stream_options"}}, status=400)
    async with LoopbackServer([refusal, say("a"), say("b")]) as server:
        provider = OpenAIProvider(client, server.base_url)
        assert words(await collected(provider)) == "a"
        assert words(await collected(provider)) == "b"
    assert ["stream_options" in asked.json for asked in server.requests] == [True, False, False]


async def test_another_bad_request_is_not_made_twice(client: httpx.AsyncClient) -> None:
    async with LoopbackServer([json_answer({"error": {"message": "bad"}}, status=400)]) as server:
        with pytest.raises(BadRequest, match="bad"):
            await collected(OpenAIProvider(client, server.base_url))
    assert len(server.requests) == 1


def test_the_providers_bring_neither_rich_nor_click_with_them() -> None:
    code = "import sys, agent_tui_core.providers.openai, agent_tui_core.providers.demo; print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert not {"rich", "click", "textual", "pygments"} & set(done.stdout.split())
