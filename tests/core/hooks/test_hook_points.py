"""What command hooks hear of prompts and results, and what they may make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.blocks import Image, ToolResult
from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.contract import Point
from agent_tui_core.hooks.points import PostToolUseEvent, UserPromptSubmitEvent
from hooked import hooked, says

RESULTS = [
    ("Bash", {"command": "ls"}, "stdout", "out"),
    ("Write", {"file_path": "a", "content": "b"}, "success", True),
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, "newString", "y"),
    ("mcp__s__t", {"q": 1}, "content", [{"type": "text", "text": "out"}]),
]


@pytest.mark.parametrize(("tool", "input_", "key", "value"), RESULTS)
async def test_a_result_is_told_as_tool_response_and_a_failure_at_its_own_point(
    tmp_path: Path, tool: str, input_: dict[str, Any], key: str, value: object
) -> None:
    points: list[Point] = ["PostToolUse", "PostToolUseFailure"]
    ann = hooked(tmp_path, *(CommandHook(point, f"cat > {point}") for point in points))
    event = PostToolUseEvent(tool, input_, "c1", ToolResult("c1", "out"), ())
    await ann.hooks.on_result(event)
    heard = json.loads((tmp_path / "PostToolUse").read_text())
    assert heard["tool_response"][key] == value
    assert not (tmp_path / "PostToolUseFailure").exists()
    (tmp_path / "PostToolUse").unlink()
    failed = PostToolUseEvent(tool, input_, "c1", ToolResult("c1", "boom", is_error=True), ())
    await ann.hooks.on_result(failed)
    assert json.loads((tmp_path / "PostToolUseFailure").read_text())["error"] == "boom"
    assert not (tmp_path / "PostToolUse").exists()


async def test_words_of_a_prompt_hook_are_context_and_its_block_keeps_the_prompt(tmp_path: Path) -> None:
    prompt = UserPromptSubmitEvent("hello", ())

    async def verdict_of(command: str) -> Any:
        return await hooked(tmp_path, CommandHook("UserPromptSubmit", command)).hooks.on_prompt(prompt)

    assert (await verdict_of(says("it is late"))).context == ("it is late",)
    added = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "more"}}
    assert (await verdict_of(says(added))).context == ("more",)
    rewritten = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "updatedPrompt": "HELLO"}}
    assert (await verdict_of(says(rewritten))).prompt == "HELLO"
    assert (await verdict_of(says({"decision": "block", "reason": "a key"}))).blocked == "a key"
    assert (await verdict_of(says("", 2, "no"))).blocked == "no"
    assert (await verdict_of(says({"continue": False, "stopReason": "off"}))).blocked == "off"
    assert "exit code 1" in (await verdict_of("exit 1")).blocked


async def test_a_result_is_replaced_commented_on_or_withheld(tmp_path: Path) -> None:
    secret = ToolResult("c1", "secret", images=(Image("data:image/png;base64,AA=="),))
    event = PostToolUseEvent("Bash", {"command": "ls"}, "c1", secret, ())

    def post(command: str, **more: object) -> CommandHook:
        return CommandHook("PostToolUse", command, **more)  # type: ignore[arg-type]

    own = {"hookEventName": "PostToolUse", "updatedToolOutput": {"stdout": "[gone]", "stderr": ""}}
    verdict = await hooked(tmp_path, post(says({"hookSpecificOutput": own}))).hooks.on_result(event)
    assert (verdict.result.content, verdict.result.images) == ("[gone]", ())
    verdict = await hooked(tmp_path, post(says("", 2, "lint: 3 errors"))).hooks.on_result(event)
    assert verdict.result.content == "secret\n\nlint: 3 errors"
    verdict = await hooked(tmp_path, post(says({"continue": False, "stopReason": "off"}))).hooks.on_result(
        event
    )
    assert (verdict.stop, verdict.reason) == (True, "off")
    verdict = await hooked(tmp_path, post("exit 1")).hooks.on_result(event)
    assert "broke" in verdict.question
    verdict = await hooked(tmp_path, post("exit 1"), attended=False).hooks.on_result(event)
    assert verdict.result.is_error
    assert "secret" not in verdict.result.content
    verdict = await hooked(tmp_path, post("exit 1", on_error="allow")).hooks.on_result(event)
    assert (verdict.result.content, verdict.question) == ("secret", "")
