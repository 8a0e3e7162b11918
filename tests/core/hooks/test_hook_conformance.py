"""One row for each sentence of trust.md §1 that a script can show."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui_core.blocks import Text, ToolResult, ToolUse
from agent_tui_core.hooks.command import CommandHook, OnError
from agent_tui_core.hooks.contract import Point
from agent_tui_core.hooks.points import PreToolUseEvent
from agent_tui_core.messages import Message
from hooked import MATCHERS, decides, hooked, says

CALL = PreToolUseEvent("Bash", {"command": "ls"}, "c1", ())
ALLOW, ASK, DENY, DEFER = (decides(word, word) for word in ("allow", "ask", "deny", "defer"))

TRANSCRIPT = """"$(sed 's/.*"transcript_path":"\\([^"]*\\)".*/\\1/' "$CLAUDE_PROJECT_DIR"/heard)\""""


def pre(command: str, **more: Any) -> CommandHook:
    return CommandHook("PreToolUse", command, **more)


@pytest.mark.parametrize(("matcher", "tool", "heard"), MATCHERS)
async def test_a_hook_hears_of_the_tools_that_its_matcher_names(
    tmp_path: Path, matcher: str | None, tool: str, heard: bool
) -> None:
    ann = hooked(tmp_path, pre("exit 2", matcher=matcher))
    verdict = await ann.hooks.on_call(PreToolUseEvent(tool, {}, "c1", ()))
    assert verdict.behavior == ("deny" if heard else "none")


@pytest.mark.parametrize(
    ("point", "matcher", "subject", "heard"),
    [
        ("UserPromptSubmit", "Bash", "", True),  # about nothing with a name: no matcher counts
        ("Stop", "Bash", "", True),
        ("SessionStart", "resume", "resume", True),
        ("SessionStart", "resume", "startup", False),
        ("SessionEnd", "logout", "other", False),
        ("Notification", "permission_prompt|idle_prompt", "permission_prompt", True),
        ("PermissionRequest", "Edit", "Bash", False),
        ("PostToolUseFailure", "Bash", "Bash", True),
    ],
)
def test_a_matcher_is_about_what_its_point_is_about(
    tmp_path: Path, point: Point, matcher: str, subject: str, heard: bool
) -> None:
    hook = CommandHook(point, "true", matcher=matcher)
    assert hook.wants(point, subject, tmp_path) is heard
    assert not hook.wants("PreToolUse", subject, tmp_path)


@pytest.mark.parametrize(
    ("command", "behavior", "reason"),
    [
        # exit 0: what starts with { is the decision, other text is only logged
        ("true", "none", ""),
        (says("all is well"), "none", ""),
        (says("[1]"), "none", ""),
        (says({}), "none", ""),
        (says(ALLOW), "allow", "allow"),
        (says(ASK), "ask", "asks: ask"),
        (says(DENY), "deny", "deny"),
        (says(DEFER), "ask", "defers: defer"),
        (says(decides("ask")), "ask", "asks"),
        (says(" \n" + json.dumps(DENY) + "\n"), "deny", "deny"),
        (says({**ALLOW, "somethingNew": 1, "suppressOutput": True}), "allow", "allow"),
        # the old top-level decision still counts
        (says({"decision": "approve", "reason": "fine"}), "allow", "fine"),
        (says({"decision": "block", "reason": "not here"}), "deny", "not here"),
        (says({"decision": "block", "reason": "old", **ALLOW}), "deny", "old"),
        (says({"decision": "approve", **DENY}), "deny", "deny"),
        # a hook that would be left to run on is waited for, and what it says then counts
        (says('{"async": true, "asyncTimeout": 9}\n' + json.dumps(DENY)), "deny", "deny"),
        (says('{"async": true}\n'), "none", ""),
        (says('{"async": true}\n{}', 2, "no"), "deny", "no"),
        # words for the person alone are the reason, too: the model has to know why
        (says({**decides("deny"), "systemMessage": "no rm"}), "deny", "no rm"),
        (says({**decides("ask"), "systemMessage": "sure?"}), "ask", "asks: sure?"),
        (says({**DENY, "systemMessage": "for you"}), "deny", "deny"),
        # exit 2 blocks, and stderr is the reason, even if the JSON says allow
        (says("", 2, "no rm here"), "deny", "no rm here"),
        (says(ALLOW, 2, "no, really"), "deny", "no, really"),
        ("exit 2", "deny", "without a reason"),
        # any other code with a valid JSON object: the JSON decides
        (says(ALLOW, 1), "allow", "allow"),
        (says(DENY, 7, "noise"), "deny", "deny"),
        (says({}, 3), "none", ""),
        # continue: false stops the agent, whatever is decided beside it
        (says({"continue": False, "stopReason": "enough", **ALLOW}), "deny", "enough"),
        (says({"continue": True, **ALLOW}), "allow", "allow"),
    ],
)
async def test_exit_code_and_output_make_the_decision(
    tmp_path: Path, command: str, behavior: str, reason: str
) -> None:
    ann = hooked(tmp_path, pre(command))
    verdict = await ann.hooks.on_call(CALL)
    assert verdict.behavior == behavior
    assert reason in verdict.reason
    assert ann.warnings == []


BROKEN = [
    ("sleep 60", "longer than 0.2 s", 0.2),
    ("kill -SEGV $$", "signal 11", 10),
    ("exit 1", "exit code 1", 10),
    (says("no JSON", 3, "went wrong"), "went wrong", 10),
    ("./is-not-there.sh", "exit code 127", 10),
    (says('{"hookSpecificOutput": '), "JSON", 10),
    (says('{"continue": "false"}'), "continue should be true or false", 10),
    (says('{"hookSpecificOutput": []}'), "should be an object", 10),
    (says(decides("maybe")), "permissionDecision", 10),
    (says({"decision": "allow"}), "decision should be one of approve, block", 10),
    (says(decides("allow", updatedInput="ls")), "updatedInput should be an object", 10),
    (says({"hookSpecificOutput": {"hookEventName": "PostToolUse"}}), "hookEventName", 10),
    (says('{"decision": "block", "decision": "approve"}'), "stands in it twice", 10),
    (says('{"reason": NaN}'), "NaN", 10),
    (says(r'{"reason": "\ud800"}'), "JSON", 10),
    (says(json.dumps(ALLOW) + " and more"), "JSON", 10),
    (says('{"async": false}\n' + json.dumps(ALLOW)), "JSON", 10),
    (says(json.dumps({**ALLOW, "async": True}) + "\n" + json.dumps(DENY)), "JSON", 10),
    (says("{" * 100_000), "JSON", 10),
    ("head -c 3000000 /dev/zero | tr '\\0' x | sed 's/^/{/'", "JSON", 10),
]


NO = json.dumps(DENY)
UNHEARD = [
    says("\ufeff" + NO),
    says("\u200b" + NO),
    says("checking the call …\n" + NO),
    says("2026-01-02 INFO decided\n" + json.dumps(DENY, indent=2)),
    says("\x1b[0m" + NO),
    says('\x1b[1;39m{\x1b[34;1m"decision"\x1b[0m:\x1b[0;32m"block"\x1b[0m}'),  # jq -C
    says("\x1b]0;hook\x07" + NO),
    says("[" + NO + "]"),
    says(json.dumps(NO)),
    says("```json\n" + NO + "\n```"),
    says({"permissionDecision": "deny", "permissionDecisionReason": "no"}),
    says({"output": DENY}),
    says({"hookSpecificOutput": {"hookEventName": "PreToolUse", "decision": "block"}}),
    says({"hookSpecificOutput": {"decision": {"behavior": "deny"}}}),
    says({"hookSpecificOutput": {"permission_decision": "deny"}}),
    says({"Decision": "Block"}),
    says({"HookSpecificOutput": {"PermissionDecision": "deny"}}),
    says({"result": {"continue": False}}),
    says('log {"continue": false}'),
    says("decision: block"),
    says("so: {'permissionDecision': 'deny'}"),
    says("", 0, NO),
    says({}, 0, NO),
    says({"suppressOutput": True}, 0, "log\n" + json.dumps({"decision": "block"})),
    says({**ALLOW, "permissionDecision": "deny"}),
    "printf '%s' '" + NO + "' | iconv -t UTF-16",
]


@pytest.mark.parametrize("command", UNHEARD)
@pytest.mark.parametrize(("attended", "behavior"), [(True, "ask"), (False, "deny")])
async def test_a_no_that_is_not_heard_is_a_broken_hook(
    tmp_path: Path, command: str, attended: bool, behavior: str
) -> None:
    ann = hooked(tmp_path, pre(command), attended=attended)
    verdict = await ann.hooks.on_call(CALL)
    assert verdict.behavior == behavior
    assert len(ann.warnings) == 1
    assert "broke" in ann.warnings[0]


@pytest.mark.parametrize(
    "command",
    [
        says("the decision was easy; continue"),
        says({"reason": None, "decision": None, "continue": True}),
        says({"hookSpecificOutput": {"additionalContext": 'say {"decision": "block"} to block'}}),
        says({"hookSpecificOutput": {"updatedInput": {"command": "ls", "decision": "block"}}}),
        says("", 0, "+ jq -r .tool_input.command"),
        says({**ALLOW, "checks": [{"name": "rm", "decision": "approve"}]}),
    ],
)
async def test_words_that_only_sound_like_a_decision_break_no_hook(tmp_path: Path, command: str) -> None:
    ann = hooked(tmp_path, pre(command))
    assert (await ann.hooks.on_call(CALL)).behavior in {"none", "allow"}
    assert ann.warnings == []


@pytest.mark.parametrize(("command", "words", "timeout"), BROKEN)
async def test_a_hook_that_breaks_asks_and_says_so_in_the_pane(
    tmp_path: Path, command: str, words: str, timeout: float
) -> None:
    ann = hooked(tmp_path, pre(command, timeout=timeout))
    verdict = await ann.hooks.on_call(CALL)
    assert verdict.behavior == "ask"
    assert words in verdict.reason
    assert len(ann.warnings) == 1
    assert words in ann.warnings[0]
    assert "the call is asked about" in ann.warnings[0]


@pytest.mark.parametrize(
    ("attended", "on_error", "compat", "behavior"),
    [
        (True, None, False, "ask"),
        (False, None, False, "deny"),
        (True, "ask", False, "ask"),
        (False, "ask", False, "ask"),  # and the policy of a run without a person denies it
        (True, "deny", False, "deny"),
        (False, "deny", False, "deny"),
        (True, "allow", False, "none"),
        (False, "allow", False, "none"),
        (True, None, True, "none"),
        (False, None, True, "none"),
        (False, "deny", True, "deny"),
    ],
)
async def test_what_a_broken_hook_amounts_to(
    tmp_path: Path, attended: bool, on_error: OnError | None, compat: bool, behavior: str
) -> None:
    ann = hooked(tmp_path, pre("exit 1", on_error=on_error, compat=compat), attended=attended)
    assert (await ann.hooks.on_call(CALL)).behavior == behavior
    assert len(ann.warnings) == 1, "it is told whatever it amounts to"


async def test_a_broken_hook_takes_nothing_from_another_ones_deny(tmp_path: Path) -> None:
    ann = hooked(tmp_path, pre("exit 1"), pre(says(DENY)), pre(says(ALLOW)))
    verdict = await ann.hooks.on_call(CALL)
    assert (verdict.behavior, verdict.reason) == ("deny", "deny")


@pytest.mark.parametrize("weak_first", [True, False])
@pytest.mark.parametrize(
    ("weak", "strong", "behavior"),
    [
        ({}, ALLOW, "allow"),
        (ALLOW, ASK, "ask"),
        (ASK, DEFER, "ask"),
        (DEFER, DENY, "deny"),
        (ALLOW, DENY, "deny"),
    ],
)
async def test_deny_beats_defer_beats_ask_beats_allow_in_any_order(
    tmp_path: Path, weak: dict[str, Any], strong: dict[str, Any], behavior: str, weak_first: bool
) -> None:
    both = [pre(says(weak)), pre(says(strong))]
    ann = hooked(tmp_path, *(both if weak_first else reversed(both)))
    verdict = await ann.hooks.on_call(CALL)
    assert verdict.behavior == behavior
    assert strong["hookSpecificOutput"]["permissionDecision"] in verdict.reason


async def test_a_call_that_is_put_off_does_not_run_and_stops_the_agent_where_nobody_can_be_asked(
    tmp_path: Path,
) -> None:
    ann = hooked(tmp_path, pre(says(DEFER)), attended=False)
    verdict = await ann.hooks.on_call(CALL)
    assert (verdict.behavior, verdict.stop) == ("deny", True)


async def test_stopping_goes_with_the_verdict_of_the_call(tmp_path: Path) -> None:
    ann = hooked(tmp_path, pre(says({"continue": False, "stopReason": "enough"})), pre(says(ALLOW)))
    verdict = await ann.hooks.on_call(CALL)
    assert (verdict.behavior, verdict.reason, verdict.stop) == ("deny", "enough", True)


async def test_all_matching_hooks_run_at_the_same_time(tmp_path: Path) -> None:
    # Each waits until the other has begun: one after the other they would never end.
    meets = "touch {0}; until [ -e {1} ]; do :; done"
    ann = hooked(tmp_path, pre(meets.format("a", "b"), timeout=10), pre(meets.format("b", "a"), timeout=10))
    async with asyncio.timeout(9):
        verdict = await ann.hooks.on_call(CALL)
    assert verdict.behavior == "none"
    assert ann.warnings == []


async def test_the_same_command_runs_once_for_one_call(tmp_path: Path) -> None:
    line = "echo x >> count"
    ann = hooked(tmp_path, pre(line), pre(line, matcher="Bash"), pre(line, timeout=5))
    await ann.hooks.on_call(CALL)
    assert (tmp_path / "count").read_text().splitlines() == ["x"] * 2


async def test_the_last_rewritten_input_in_the_configuration_wins_and_the_conflict_is_told(
    tmp_path: Path,
) -> None:
    slow = decides("allow", updatedInput={"command": "first", "timeout": 1})
    last = decides("allow", updatedInput={"command": "last"})
    ann = hooked(tmp_path, pre(f"sleep 0.2; {says(slow)}"), pre(says(last)))
    verdict = await ann.hooks.on_call(CALL)
    assert verdict.input == {"command": "last"}, "it replaces the whole input"
    assert "2 hooks rewrote this call" in ann.warnings[0]


async def test_context_of_several_hooks_is_kept_in_order(tmp_path: Path) -> None:
    own = {"hookEventName": "PreToolUse"}
    hooks = [pre(says({"hookSpecificOutput": {**own, "additionalContext": word}})) for word in ("one", "two")]
    verdict = await hooked(tmp_path, *hooks).hooks.on_call(CALL)
    assert (verdict.behavior, verdict.context) == ("none", ("one", "two"))


async def test_a_callable_that_denies_spares_the_commands_and_what_it_rewrote_is_what_they_hear(
    tmp_path: Path,
) -> None:
    from agent_tui_core.hooks.points import HookDecision

    ann = hooked(tmp_path, pre("cat > heard"))
    ann.hooks.add_pre_tool_use(lambda _e: HookDecision.modify_input({"command": "ls -l"}))
    await ann.hooks.on_call(CALL)
    assert json.loads((tmp_path / "heard").read_text())["tool_input"] == {"command": "ls -l"}
    (tmp_path / "heard").unlink()
    ann.hooks.add_pre_tool_use(lambda _e: HookDecision.deny("no"))
    assert (await ann.hooks.on_call(CALL)).behavior == "deny"
    assert not (tmp_path / "heard").exists()


@pytest.mark.parametrize(
    ("mode", "known_as"),
    [("ask", "default"), ("accept-edits", "acceptEdits"), ("plan", "plan"), ("auto", "bypassPermissions")],
)
async def test_stdin_is_one_object_with_the_keys_of_the_contract(
    tmp_path: Path, mode: str, known_as: str
) -> None:
    history = (
        Message("user", (Text("go"),)),
        Message("assistant", (Text("well"), ToolUse("c0", "Bash", {"command": "ls"}))),
        Message("tool", (ToolResult("c0", "files"),)),
    )
    ann = hooked(tmp_path, pre(f"cat > heard; cp {TRANSCRIPT} seen"), mode=mode)
    await ann.hooks.on_call(PreToolUseEvent("Read", {"file_path": "src/../a.py", "limit": 2}, "c1", history))
    heard = json.loads((tmp_path / "heard").read_text())
    assert Path(heard.pop("transcript_path")).name == "a1.jsonl"
    assert heard == {
        "session_id": "s1",
        "cwd": str(tmp_path),
        "permission_mode": known_as,
        "hook_event_name": "PreToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": str(tmp_path / "a.py"), "limit": 2},
        "tool_use_id": "c1",
        "agent_tui": {
            "agent_id": "a1",
            "agent_name": "ann",
            "model": "m",
            "run_id": "r1",
            "attended": True,
        },
    }
    lines = [json.loads(line)["message"] for line in (tmp_path / "seen").read_text().splitlines()]
    assert [line["role"] for line in lines] == ["user", "assistant", "user"]
    assert lines[1]["content"][1] == {
        "type": "tool_use",
        "id": "c0",
        "name": "Bash",
        "input": {"command": "ls"},
    }
