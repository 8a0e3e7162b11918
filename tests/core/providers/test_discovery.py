import asyncio
import time

import pytest

from agent_tui_core.providers.discovery import probe
from agent_tui_core.providers.http import http_client
from loopback import CLOSE, HANG, Answer, LoopbackServer, Request, Step, json_answer

MODELS = {"object": "list", "data": [{"id": "llama3.2:3b", "object": "model"}]}


async def test_servers_are_found_in_parallel_and_in_order() -> None:
    ready = asyncio.Event()
    waiting = 0

    def both(_request: Request) -> Answer:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            ready.set()
        body = json_answer(MODELS).steps
        return Answer(ready, *body, content_type="application/json")

    async with http_client() as client, LoopbackServer(both) as one, LoopbackServer(both) as two:
        servers = [("one", one.base_url), ("two", two.base_url)]
        found = await probe(client, servers, timeout=5.0)
    assert [(each.name, each.models) for each in found] == [
        ("one", ("llama3.2:3b",)),
        ("two", ("llama3.2:3b",)),
    ]
    assert found[0].base_url == one.base_url
    assert one.requests[0].path == "/v1/models"
    assert "authorization" not in one.requests[0].headers


async def test_silence_ends_at_the_time_out_and_refusal_at_once() -> None:
    async with http_client() as client, LoopbackServer([Answer(HANG)]) as silent:
        began = time.perf_counter()
        servers = [("silent", silent.base_url), ("nobody", "http://127.0.0.1:1/v1")]
        assert await probe(client, servers, timeout=0.2) == []
    assert time.perf_counter() - began < 1.0


def _endless() -> list[Step]:
    return [b" " * 2**16 for _ in range(64)]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>it works</html>", content_type="text/html"),
        Answer(b"[]", content_type="application/json"),
        Answer(b"{}", content_type="application/json"),
        Answer(b'{"data": "x"}', content_type="application/json"),
        Answer(b'{"data": [{"name": "no id"}]}', content_type="application/json"),
        Answer(b'{"data": [{"id": 7}]}', content_type="application/json"),
        Answer(b"\xff\xfe{", content_type="application/json"),
        Answer(b"[" * 500_000, content_type="application/json"),
        Answer(b'{"data": [], "x": ' + b"[" * 500_000, content_type="application/json"),
        Answer(b'{"data": [', CLOSE),
        Answer(b"no", status=404),
        Answer(status=302, headers={"Location": "http://127.0.0.1:1/"}, framing="none"),
        Answer(lazily=_endless()),
        Answer(b"not gzip", headers={"Content-Encoding": "gzip"}),
    ],
)
async def test_whatever_else_listens_is_no_server(answer: Answer) -> None:
    async with http_client() as client, LoopbackServer([answer]) as server:
        assert await probe(client, [("other", server.base_url)], timeout=2.0) == []


async def test_a_server_without_models_is_found() -> None:
    async with (
        http_client() as client,
        LoopbackServer([json_answer({"object": "list", "data": None})]) as server,
    ):
        (found,) = await probe(client, [("ollama", server.base_url)], timeout=2.0)
    assert found.models == ()


async def test_names_of_models_are_bounded_and_harmless() -> None:
    names = ["ok", "e\x1b[2J", "two\nlines", "", "x" * 5000, *(f"m{n}" for n in range(5000))]
    listed = {"data": [{"id": name} for name in names]}
    async with http_client() as client, LoopbackServer([json_answer(listed)]) as server:
        (found,) = await probe(client, [("odd", server.base_url)], timeout=2.0)
    assert found.models[:2] == ("ok", "m0")
    assert len(found.models) <= 1000
