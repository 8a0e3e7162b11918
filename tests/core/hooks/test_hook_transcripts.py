"""What published hooks find with grep and jq in what they are told, and in the transcript."""

from __future__ import annotations

import json
import re
from pathlib import Path

from agent_tui_core.blocks import Reasoning, Text, ToolResult, ToolUse
from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.payload import HookedAgent
from agent_tui_core.hooks.points import PreToolUseEvent
from agent_tui_core.hooks.transcript import Transcripts
from agent_tui_core.messages import Message, Usage
from hooked import hooked

HISTORY = (
    Message("user", (Text("Übersetze 漢字 \u2028 bitte"),)),
    Message(
        "assistant",
        (Reasoning("hm"), Text("Gleich: «é»"), ToolUse("c0", "Bash", {"command": "echo 'ü'"})),
        stop_reason="tool_use",
        usage=Usage(100, 20, cached_tokens=60),
    ),
    Message("tool", (ToolResult("c0", "ü"),)),
    Message("assistant", (Text("Fertig."),), stop_reason="end"),
)
AGENT = HookedAgent("a1", "ann", "m-1", Path("/w"), "s1")


def lines_of(*messages: Message) -> list[str]:
    transcripts = Transcripts()
    file = transcripts.update(AGENT, messages)
    assert file is not None
    written = file.read_text(encoding="utf-8")
    transcripts.close()
    return written.splitlines() if "\u2028" not in written else written.rstrip("\n").split("\n")


async def test_a_stop_hook_finds_the_assistants_lines_with_grep(tmp_path: Path) -> None:
    """As loops do that send their prompt again until the model wrote a certain word."""
    line = (
        'T=$(jq -r .transcript_path); grep -q \'"role":"assistant"\' "$T" || { rm state; exit 0; }; '
        'grep \'"role":"assistant"\' "$T" | tail -1 | '
        'jq -r \'.message.content | map(select(.type == "text")) | map(.text) | join("\\n")\' > last'
    )
    (tmp_path / "state").write_text("")
    ann = hooked(tmp_path, CommandHook("Stop", line))
    await ann.hooks.on_stop("Fertig.", HISTORY, again=False)
    assert ann.warnings == []
    assert (tmp_path / "state").exists()
    assert (tmp_path / "last").read_text() == "Fertig.\n"


async def test_what_a_hook_is_told_is_compact_and_every_letter_is_itself(tmp_path: Path) -> None:
    line = 'cat > heard; grep -q \'"tool_name":"Bash"\' heard && grep -q "漢字 é" heard || exit 2'
    ann = hooked(tmp_path, CommandHook("PreToolUse", line))
    call = PreToolUseEvent("Bash", {"command": "echo 漢字 é", "half": "\ud800!"}, "c1", ())
    assert (await ann.hooks.on_call(call)).behavior == "none"
    heard = (tmp_path / "heard").read_text(encoding="utf-8")
    assert heard.endswith("}\n")
    assert heard.count("\n") == 1
    assert "\\ud800!" in heard
    assert json.loads(heard)["tool_input"] == call.tool_input


def test_a_transcript_has_the_shape_that_other_programs_write() -> None:
    lines = lines_of(*HISTORY)
    assert len(lines) == len(HISTORY)
    for line in lines:
        assert not re.search(r'[:,] "', re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)), "no blanks between"
    prompt, answer, results, last = map(json.loads, lines)
    assert [each["type"] for each in (prompt, answer, results, last)] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert prompt["message"] == {"role": "user", "content": "Übersetze 漢字 \u2028 bitte"}
    assert "漢字" in lines[0]
    assert [block["type"] for block in answer["message"]["content"]] == ["thinking", "text", "tool_use"]
    assert answer["message"]["stop_reason"] == "tool_use"
    assert answer["message"]["model"] == "m-1"
    assert answer["message"]["usage"] == {
        "input_tokens": 40,
        "cache_read_input_tokens": 60,
        "output_tokens": 20,
    }
    assert results["message"]["content"][0]["type"] == "tool_result"
    assert last["message"]["stop_reason"] == "end_turn"
    assert (prompt["sessionId"], prompt["cwd"], prompt["isSidechain"]) == ("s1", "/w", False)
    uuids = [each["uuid"] for each in (prompt, answer, results, last)]
    assert [each["parentUuid"] for each in (prompt, answer, results, last)] == [None, *uuids[:-1]]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", last["timestamp"])


def test_a_transcript_that_grows_goes_on_from_the_message_before() -> None:
    transcripts = Transcripts()
    transcripts.update(AGENT, HISTORY[:2])
    file = transcripts.update(AGENT, HISTORY)
    assert file is not None
    third = json.loads(file.read_text(encoding="utf-8").rstrip("\n").split("\n")[2])
    assert third["parentUuid"] == HISTORY[1].id
    transcripts.close()
