"""What a model reads of a result: each thing once, bytes never as text."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from mcp_types import CallToolResult

from agent_tui_core.tools.mcp_results import as_tool_output

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100).decode()
PICTURE = {"type": "image", "data": PNG, "mimeType": "image/png"}
SOUND = {"type": "audio", "data": PNG, "mimeType": "audio/wav"}
FILE = {"type": "resource", "resource": {"uri": "zip:1", "blob": PNG, "mimeType": "application/zip"}}


def result(*content: dict[str, Any], structured: object = None) -> CallToolResult:
    return CallToolResult.model_validate({"content": list(content), "structuredContent": structured})


@pytest.mark.parametrize("block", [PICTURE, SOUND, FILE], ids=["picture", "sound", "file"])
@pytest.mark.parametrize("around", ["alone", "result", "list", "deep"])
async def test_structured_content_that_repeats_the_parts_is_not_read_twice(
    block: dict[str, Any], around: str
) -> None:
    structured = {
        "alone": block,
        "result": {"result": block},
        "list": {"result": [block, block]},
        "deep": {"result": {"items": [{"item": block}]}},
    }[around]
    output = await as_tool_output(result(block, structured=structured))
    named = (await as_tool_output(result(block))).content
    assert output.content == named
    assert PNG[:100] not in output.content
    assert len(output.images) == (1 if block is PICTURE else 0)


async def test_what_structured_content_says_beyond_the_parts_stays() -> None:
    output = await as_tool_output(result(PICTURE, structured={"caption": "a cat", "data": PNG, "width": 8}))
    assert '"caption": "a cat"' in output.content
    assert '"width": 8' in output.content
    assert PNG[:100] not in output.content


async def test_a_data_url_of_a_picture_that_is_there_is_not_read() -> None:
    url = f"data:image/png;base64,{PNG}"
    output = await as_tool_output(result(PICTURE, structured={"url": url}))
    assert output.content == ""


async def test_a_text_that_spells_a_picture_out_names_it(tmp_path: object) -> None:
    text = {"type": "text", "text": f'{{"caption": "a cat", "data": "{PNG}"}}'}
    output = await as_tool_output(result(text, PICTURE))
    assert "a cat" in output.content
    assert len(output.content) < 200


async def test_structured_content_beside_text_is_not_read() -> None:
    text = {"type": "text", "text": '{"answer": 42}'}
    assert (await as_tool_output(result(text, structured={"answer": 42}))).content == '{"answer": 42}'


@pytest.mark.parametrize(
    ("kind", "shown"), [("text/plain", True), ("application/json", True), ("image/x", False)]
)
async def test_text_that_comes_as_bytes_is_text(kind: str, shown: bool) -> None:
    blob = base64.b64encode("grün {}".encode()).decode()
    block = {"type": "resource", "resource": {"uri": "x:1", "blob": blob, "mimeType": kind}}
    content = (await as_tool_output(result(block))).content
    assert content == ("[x:1]\ngrün {}" if shown else f"[x:1: {kind}, {len(blob) * 3 // 4} bytes, not shown]")


async def test_bytes_that_are_called_text_and_are_none_are_named() -> None:
    block = {"type": "resource", "resource": {"uri": "x:1", "blob": "/////w==", "mimeType": "text/plain"}}
    assert (await as_tool_output(result(block))).content == "[x:1: text/plain, 6 bytes, not shown]"
