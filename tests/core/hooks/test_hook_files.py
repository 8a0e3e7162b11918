"""Hooks as they are written down: in our settings, in `hooks.json`, in another tool's settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from agent_tui_core.config.equipment import HOOK_POINTS, EquipmentSettings, HookPoint, HookSettings, OnError
from agent_tui_core.config.load import load_settings
from agent_tui_core.errors import ConfigError
from agent_tui_core.hooks import command, contract
from agent_tui_core.hooks.chain import Hooks
from agent_tui_core.hooks.command import CommandHook
from agent_tui_core.hooks.files import add_hooks, read_hooks
from agent_tui_core.hooks.points import PreToolUseEvent
from agent_tui_core.runtime.hook_layers import own_hooks, project_hooks
from hooked import MATCHERS, hooked


def test_settings_and_hooks_know_the_same_points_and_words() -> None:
    assert HOOK_POINTS == contract.POINTS
    assert get_args(OnError) == get_args(command.OnError)


def group(entry: object, **more: object) -> dict[str, Any]:
    return {"hooks": {"PreToolUse": [{"hooks": [entry], **more}]}}


GOOD = {"type": "command", "command": "./check.sh"}
PLACE = "hooks.PreToolUse[1]"


@pytest.mark.parametrize(
    ("table", "key", "words"),
    [
        (group({"type": "prompt", "prompt": "ok?"}), f"{PLACE}.hooks[1].type", "'prompt' do not run here"),
        (group({"type": "http", "url": "http://x"}), f"{PLACE}.hooks[1].type", "'http' do not run here"),
        (group({"type": "command"}), f"{PLACE}.hooks[1].command", "a command line"),
        (group({**GOOD, "command": " "}), f"{PLACE}.hooks[1].command", "a command line"),
        (group({**GOOD, "timeout": 0}), f"{PLACE}.hooks[1].timeout", "seconds, from 0.1"),
        (group({**GOOD, "timeout": "5"}), f"{PLACE}.hooks[1].timeout", "seconds, from 0.1"),
        (group({**GOOD, "timeout": True}), f"{PLACE}.hooks[1].timeout", "seconds, from 0.1"),
        (group({**GOOD, "on_error": "pass"}), f"{PLACE}.hooks[1].on_error", '"ask", "deny" or "allow"'),
        (group({**GOOD, "compat": 1}), f"{PLACE}.hooks[1].compat", "true or false"),
        (group({**GOOD, "compat": True, "on_error": "ask"}), f"{PLACE}.hooks[1].on_error", "leave out one"),
        (group({**GOOD, "if": "Bash(rm *)"}), f"{PLACE}.hooks[1].if", "would be another hook"),
        (group({**GOOD, "async": True}), f"{PLACE}.hooks[1].async", "would be another hook"),
        (group({**GOOD, "env_from": "HOME"}), f"{PLACE}.hooks[1].env_from", "a list of names"),
        (group("./check.sh"), f"{PLACE}.hooks[1]", "an object"),
        (group(GOOD, matcher="("), f"{PLACE}.matcher", "no regular expression"),
        (group(GOOD, matcher=["Bash"]), f"{PLACE}.matcher", "should be text"),
        ({"hooks": {"PreToolUse": {}}}, "hooks.PreToolUse", "should be a list"),
        ({"hooks": {"PreToolUse": [{}]}}, f"{PLACE}.hooks", "should be a list"),
        ({"hooks": {"PreToolUse": ["x"]}}, PLACE, "should be an object"),
        ({"hooks": {"SubagentStop": []}}, "hooks.SubagentStop", "no such point here"),
    ],
)
def test_what_cannot_be_used_is_told_with_file_key_and_remedy(
    table: dict[str, Any], key: str, words: str
) -> None:
    found = read_hooks(json.dumps(table).encode(), "a.json")
    assert found.hooks == []
    (problem,) = found.problems
    assert (problem.file, problem.key) == ("a.json", key)
    assert words in str(problem)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "should be an object"),
        (b'{"hooks": []}', "should be an object"),
        (b"\xff", "not valid JSON"),
        (b"[" * 200_000, "not valid JSON"),
        (b" " * (2**20 + 1), "at most 1 MiB"),
    ],
)
def test_a_file_that_is_none_is_refused(raw: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_hooks(raw, "a.json")


def test_one_bad_hook_costs_no_other() -> None:
    raw = json.dumps(
        {
            "hooks": {
                "Nope": [],
                "PreToolUse": [{"hooks": [{"type": "prompt"}, GOOD]}],
                "Stop": [{"hooks": [GOOD]}],
            }
        }
    )
    found = read_hooks(raw.encode(), "a.json")
    assert [hook.point for hook in found.hooks] == ["PreToolUse", "Stop"]
    assert len(found.problems) == 2


def test_settings_come_before_the_hooks_file_and_both_name_their_place(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        "[[hooks.PreToolUse]]\nmatcher = 'Bash'\ncommand = 'first'\ntimeout = 5\non_error = 'deny'\n"
        "[[hooks.Stop]]\ncommand = 'stop'\ncompat = true\n"
    )
    (tmp_path / "hooks.json").write_text(json.dumps(group({**GOOD, "timeout": 7}, matcher="Edit")))
    settings = load_settings(tmp_path / "config.toml", environ={})
    hooks = own_hooks(EquipmentSettings(hooks=settings.hooks), tmp_path)
    assert [hook.command for hook in hooks] == ["first", "stop", "./check.sh"]
    first, stop, last = hooks
    assert (first.matcher, first.timeout, first.on_error) == ("Bash", 5, "deny")
    assert first.source == "settings: hooks.PreToolUse[1]"
    assert stop.compat
    assert (last.matcher, last.timeout) == ("Edit", 7)
    assert last.source == f"{tmp_path / 'hooks.json'}: {PLACE}.hooks[1]"
    assert last.root is None


@pytest.mark.parametrize("point", HOOK_POINTS)
@pytest.mark.parametrize(("matcher", "tool", "heard"), [*MATCHERS, (" * ", "Bash", True), ("", "Bash", True)])
def test_every_matcher_that_a_hook_takes_can_stand_in_the_settings(
    tmp_path: Path, matcher: str | None, tool: str, heard: bool, point: HookPoint
) -> None:
    said = "" if matcher is None else f"matcher = '{matcher}'\n"
    (tmp_path / "config.toml").write_text(f"[[hooks.{point}]]\n{said}command = 'true'\n")
    settings = load_settings(tmp_path / "config.toml", environ={})
    (hook,) = own_hooks(EquipmentSettings(hooks=settings.hooks), tmp_path)
    assert hook.wants("PreToolUse", tool, tmp_path) is (heard and point == "PreToolUse")


def test_a_callable_takes_a_star_as_every_tool_too() -> None:
    for matcher in ("*", "", None):
        Hooks().add_pre_tool_use(lambda _: None, matcher).add_post_tool_use(lambda _: None, matcher)


OF_PLUGIN = '"${CLAUDE_PLUGIN_ROOT}"/check.sh'


def test_a_hook_of_a_plugin_has_to_say_where_the_plugin_is() -> None:
    for entry in (
        {**GOOD, "command": OF_PLUGIN},
        {**GOOD, "command": "sh $CLAUDE_PLUGIN_ROOT/x.sh"},
        {**GOOD, "command": OF_PLUGIN, "plugin_root": "relative"},
        {**GOOD, "plugin_root": 1},
    ):
        found = read_hooks(json.dumps(group(entry)).encode(), "a.json")
        assert found.hooks == []
        assert found.problems[0].key == f"{PLACE}.hooks[1].plugin_root"
    found = read_hooks(json.dumps(group({**GOOD, "command": OF_PLUGIN})).encode(), "a.json", plugin_root="/p")
    assert [(hook.plugin_root, hook.runs) for hook in found.hooks] == [("/p", '"/p"/check.sh')]
    merged, _ = add_hooks({}, found.hooks)
    assert read_hooks(json.dumps(merged).encode(), "b.json").hooks[0].plugin_root == "/p"


def test_a_projects_hook_has_no_plugin_whose_files_its_trust_would_not_cover(tmp_path: Path) -> None:
    """Trust is about content; the scripts of such a hook are found by the words of its command alone."""
    for entry in ({**GOOD, "plugin_root": str(tmp_path / "plugin")}, {**GOOD, "command": OF_PLUGIN}):
        raw = json.dumps(group(entry)).encode()
        hooks, problems = project_hooks(EquipmentSettings(), raw, tmp_path)
        assert (hooks, len(problems)) == ([], 1)
        assert "CLAUDE_PROJECT_DIR" in problems[0]
    settings = HookSettings(command=OF_PLUGIN, plugin_root=str(tmp_path))
    hooks, problems = project_hooks(EquipmentSettings(hooks={"Stop": (settings,)}), None, tmp_path)
    assert (hooks, "CLAUDE_PROJECT_DIR" in problems[0]) == ([], True)


async def test_the_programs_of_a_plugin_know_its_folder(tmp_path: Path) -> None:
    plugin = tmp_path / "a plugin"
    plugin.mkdir()
    (plugin / "check.sh").write_text('echo "not from $CLAUDE_PLUGIN_ROOT" >&2; exit 2\n')
    line = 'sh "${CLAUDE_PLUGIN_ROOT}/check.sh"'
    ann = hooked(tmp_path, CommandHook("PreToolUse", line, plugin_root=str(plugin)))
    verdict = await ann.hooks.on_call(PreToolUseEvent("Bash", {"command": "ls"}, "c1", ()))
    assert (verdict.behavior, verdict.reason) == ("deny", f"not from {plugin}")


def test_settings_can_name_the_folder_of_a_plugin(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    said = "[[hooks.Stop]]\ncommand = 'sh ${CLAUDE_PLUGIN_ROOT}/x'\n"
    file.write_text(said)
    settings = load_settings(file, environ={})
    with pytest.raises(ConfigError, match="plugin_root"):
        own_hooks(EquipmentSettings(hooks=settings.hooks), tmp_path)
    file.write_text(f"{said}plugin_root = '/p'\n")
    settings = load_settings(file, environ={})
    assert own_hooks(EquipmentSettings(hooks=settings.hooks), tmp_path)[0].plugin_root == "/p"


def test_a_projects_hooks_are_bound_to_its_folder_and_its_broken_file_stops_nothing(tmp_path: Path) -> None:
    hooks, problems = project_hooks(EquipmentSettings(), json.dumps(group(GOOD)).encode(), tmp_path)
    assert [hook.root for hook in hooks] == [tmp_path]
    assert problems == []
    assert hooks[0].wants("PreToolUse", "Bash", tmp_path / "inside")
    assert not hooks[0].wants("PreToolUse", "Bash", tmp_path.parent)
    assert not hooks[0].wants("PreToolUse", "Bash", Path(f"{tmp_path}-evil"))
    asking = json.dumps(group({**GOOD, "env_from": ["GITHUB_TOKEN"]})).encode()
    hooks, problems = project_hooks(EquipmentSettings(), asking, tmp_path)
    assert hooks == []
    assert "not a project's to ask for" in problems[0]
    hooks, problems = project_hooks(EquipmentSettings(), b"{", tmp_path)
    assert hooks == []
    assert "not valid JSON" in problems[0]


def test_adding_keeps_what_is_there_and_adds_nothing_twice() -> None:
    table = {"other": 1, "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [GOOD]}]}}
    same = CommandHook("PreToolUse", "./check.sh")
    new = CommandHook("Stop", "./stop.sh", timeout=2.5, on_error="deny", environment=("DISPLAY",))
    merged, added = add_hooks(table, [same, new, new])
    assert added == 1
    assert merged["other"] == 1
    assert merged["hooks"]["PreToolUse"] == [{"matcher": "*", "hooks": [GOOD]}]
    again = read_hooks(json.dumps(merged).encode(), "a.json")
    assert again.problems == []
    assert [(hook.command, hook.timeout, hook.on_error) for hook in again.hooks] == [
        ("./check.sh", 60, None),
        ("./stop.sh", 2.5, "deny"),
    ]
    assert again.hooks[1].environment == ("DISPLAY",)
