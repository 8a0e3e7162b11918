"""An export tells what happened, cannot move a terminal and is for its owner alone."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from agent_tui_core.blocks import Image, Reasoning, ToolResult, ToolUse
from agent_tui_core.errors import HistoryError
from agent_tui_core.events import (
    Body,
    MessageCommitted,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolJudged,
    ToolProposed,
)
from agent_tui_core.history.export import json_lines, markdown, save
from agent_tui_core.history.store import StoredConversation
from agent_tui_core.messages import Message, Usage
from stored_turns import acted, said


def conversation(*bodies: Body, name: str = "ada") -> StoredConversation:
    stored = tuple(("run", 1_700_000_000.0 + index, body) for index, body in enumerate(bodies))
    return StoredConversation("c", "agent-1", name, 0, {}, stored)


def test_markdown_tells_who_said_and_decided_what() -> None:
    assert markdown(conversation(*acted("ls"))) == (
        "# `ada`\n\n---\n\n*2023-11-14 22:13:20 UTC*\n\n## You\n\n> run ls\n\n"
        "## Agent\n\n> I will\n\n### `Bash`\n\n"
        '```json\n{\n  "command": "ls"\n}\n```\n\nAllowed by person, rule `Bash(ls *)`: go on\n\n'
        "Result: **ok**, 0.2 s\n\n```\ndone\n```\n\n*interrupted: Esc*\n"
    )


def test_markdown_shows_what_ran_instead_a_broken_call_and_a_denial() -> None:
    changed = ToolUse("c1", "Bash", {"command": "rm x"})
    broken = ToolUse("c2", "Read", {}, broken="cut", raw='{"file_path": "/e')
    message = Message("assistant", (Reasoning("hm\nwell"), changed, broken), "tool_use")
    text = markdown(
        conversation(
            RunStarted(None),
            MessageCommitted(message),
            ToolProposed("1", changed, message.id),
            ToolProposed("2", broken, message.id),
            ToolJudged("1", True, "person", "", None, {"command": "ls"}, 1.0),
            ToolJudged("2", False, "loop", "broken", None, {}, 0.0),
            ToolEnded("2", ToolResult("c2", "broken", True), "error", 0.0),
        )
    )
    assert "*Thought:*\n\n> hm\n> well\n" in text
    assert '```json\n{"file_path": "/e\n```' in text
    assert 'It ran with another input:\n\n```json\n{\n  "command": "ls"\n}\n```' in text
    assert "Denied by loop: broken" in text


def test_no_text_breaks_out_of_its_fence_or_moves_the_terminal() -> None:
    result = ToolResult("c1", "a\n```\n# not a heading\n````\n\x1b[2J\x9b31m")
    bodies: list[Body] = [
        ToolEnded("1", result, "ok", 1.0),
        RunEnded("failed", "bad\n# news\x1b]0;x\x07", 1, Usage()),
    ]
    text = markdown(conversation(*bodies, name="`x`\n# y\x1b[2J"))
    assert "`````\na\n```\n# not a heading\n````\n`````\n" in text
    assert [line for line in text.split("\n") if line.startswith("# ")] == ["# `'x' # y`", "# not a heading"]
    assert not set(text) & {"\x1b", "\x9b", "\x07"}


def test_pictures_are_named_and_not_embedded() -> None:
    pictures = Message("user", (Image("data:image/png;base64,AAAA"), Image("https://example.org/a.png")))
    text = markdown(conversation(MessageCommitted(pictures)))
    assert "AAAA" not in text
    assert "`https://example.org/a.png`" in text


def test_json_lines_hold_every_body_in_order() -> None:
    bodies = [*acted("ls"), *said("\ud800\x1b")]
    lines = list(json_lines(conversation(*bodies)))
    parsed = [json.loads(line) for line in lines]
    assert [each["type"] for each in parsed] == [type(body).__name__ for body in bodies]
    assert [each["seq"] for each in parsed] == list(range(1, len(bodies) + 1))
    assert parsed[4]["reason"] == "go on"
    assert all(line.isascii() and line.endswith("\n") and "\x1b" not in line for line in lines)


def test_an_export_is_private_and_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "talk.md"
    save(path, "words \ud800\n")
    assert path.read_text() == "words ?\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(HistoryError, match="exists"):
        save(path, "other")
    assert path.read_text() == "words ?\n"


def test_an_export_to_nowhere_says_so(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="missing"):
        save(tmp_path / "missing" / "talk.md", "words")


@pytest.mark.parametrize("words", ["```\nopen", "<!-- open", "fine\n# Allowed by person", "~~~"])
def test_what_was_said_cannot_pass_for_what_happened(words: str) -> None:
    text = markdown(conversation(*said(words), *acted("ls")))
    drawn = MarkdownIt().parse(text)
    outside = [token for token in drawn if token.level == 0]
    headings = [drawn[drawn.index(token) + 1].content for token in outside if token.type == "heading_open"]
    assert headings == ["`ada`", "You", "Agent", "You", "Agent", "`Bash`"]
    assert any("Allowed by person" in token.content for token in drawn if token.level == 1)
