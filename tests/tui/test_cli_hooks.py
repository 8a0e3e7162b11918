"""Owns what `agent-tui hooks` tells, runs and writes; refuses a terminal."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from agent_tui.cli import run

NEVER = "grep -q 'rm -rf' && { echo 'never rm -rf' >&2; exit 2; }; exit 0"
OTHERS = {
    "model": "x",
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": NEVER, "timeout": 5},
                    {"type": "prompt", "prompt": "?"},
                ],
            }
        ]
    },
}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config"


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = run(["hooks", *args])
    output = capsys.readouterr()
    return code, output.out + output.err


def test_without_hooks_the_list_says_how_to_get_some(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = told(capsys, "list")
    assert code == 0
    assert "agent-tui hooks import FILE" in said
    assert not config.exists()


def test_hooks_of_another_tool_are_shown_and_taken_over_after_a_yes(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("theirs.json").write_text(json.dumps(OTHERS))
    code, said = told(capsys, "import", "theirs.json")
    assert code == 2
    assert "say --yes" in said
    assert NEVER in said
    assert not config.exists()
    code, said = told(capsys, "import", "theirs.json", "--yes")
    assert code == 0
    assert "left out: theirs.json: hooks.PreToolUse[1].hooks[2].type" in said
    file = config / "hooks.json"
    assert (file.stat().st_mode & 0o777, config.stat().st_mode & 0o777) == (0o600, 0o700)
    assert json.loads(file.read_text()) == {
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": NEVER, "timeout": 5}]}
            ]
        }
    }
    code, said = told(capsys, "import", "theirs.json", "--yes")
    assert (code, "Nothing to add" in said) == (0, True)
    code, said = told(capsys, "list")
    assert NEVER in said
    assert f"{file}: hooks.PreToolUse[1].hooks[1]" in said


def plugin(folder: Path) -> Path:
    """A plugin as they are published: its hooks name its folder by a variable."""
    (folder / "hooks").mkdir(parents=True)
    (folder / "hooks" / "stop.sh").write_text('echo "go on, says $CLAUDE_PLUGIN_ROOT" >&2; exit 2\n')
    command = {"type": "command", "command": 'bash "${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh"'}
    file = folder / "hooks" / "hooks.json"
    file.write_text(json.dumps({"description": "…", "hooks": {"Stop": [{"hooks": [command]}]}}))
    return file


def test_hooks_of_a_plugin_are_taken_over_with_its_folder(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = plugin(Path("plug in").absolute())
    code, said = told(capsys, "import", str(file), "--yes")
    assert code == 2
    assert "One command means a file in the folder of its plugin" in said
    assert f"--plugin-root '{file.parent.parent}'" in said
    assert not config.exists()
    for wrong, words in (
        ("nowhere", "there is no folder nowhere"),
        (".", "there is no hooks/stop.sh in this"),
    ):
        code, said = told(capsys, "import", str(file), "--yes", "--plugin-root", wrong)
        assert (code, words in said) == (2, True)
    code, said = told(capsys, "import", str(file), "--yes", "--plugin-root", "plug in")
    assert (code, f"plugin {file.parent.parent}" in said) == (0, True)
    (group,) = json.loads((config / "hooks.json").read_text())["hooks"]["Stop"]
    assert group["hooks"][0]["plugin_root"] == str(file.parent.parent)
    Path("stop.json").write_text("{}")
    code, said = told(capsys, "test", "Stop", "stop.json")
    assert (code, f"go on, says {file.parent.parent}" in said) == (2, True)
    code, said = told(capsys, "import", str(file), "--yes", "--plugin-root", "plug in")
    assert "Nothing to add" in said


def test_nobody_is_asked_for_the_folder_of_a_plugin_none_of_whose_hooks_can_run(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = plugin(Path("plugin").absolute())
    file.write_text(file.read_text().replace('"Stop"', '"UserPromptExpansion"'))
    code, said = told(capsys, "import", str(file), "--yes")
    assert (code, "no hook in it that can run here" in said, "no such point" in said) == (0, True, True)
    assert not config.exists()


def test_the_folder_of_a_plugin_is_asked_for_at_a_terminal(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = plugin(Path("plugin").absolute())
    typed = io.StringIO("\ny\n")
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)
    code, said = told(capsys, "import", str(file))
    assert code == 0
    assert f"Which folder is that [{file.parent.parent}]" in said
    Path("stop.json").write_text("{}")
    code, said = told(capsys, "test", "Stop", "stop.json")
    assert (code, f"go on, says {file.parent.parent}" in said) == (2, True)
    code, said = told(capsys, "test", "Stop", "stop.json", "--from", str(file), "--plugin-root", "plugin")
    assert (code, f"go on, says {file.parent.parent}" in said) == (2, True)


def test_nothing_is_added_to_a_hooks_file_that_is_broken(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.mkdir()
    Path("theirs.json").write_text(json.dumps(OTHERS))
    for broken in ('{"hooks": {"Stop": 1}}', "{", '{"hooks": {"Stop": [{"matcher": [], "hooks": []}]}}'):
        (config / "hooks.json").write_text(broken)
        code, said = told(capsys, "import", "theirs.json", "--yes")
        assert (code, str(config / "hooks.json") in said) == (2, True)
        assert (config / "hooks.json").read_text() == broken


def test_a_trial_shows_what_each_hook_said_and_its_exit_code_is_the_verdict(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.mkdir()
    rewrite = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "ls"}}}
    hooks = {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": NEVER}]},
            {"matcher": "Glob", "hooks": [{"type": "command", "command": f"echo '{json.dumps(rewrite)}'"}]},
            {"matcher": "Write", "hooks": [{"type": "command", "command": "exit 3"}]},
        ],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo it is late"}]}],
    }
    (config / "hooks.json").write_text(json.dumps({"hooks": hooks}))

    def tried(event: str, **call: object) -> tuple[int, str]:
        Path("call.json").write_text(json.dumps(call))
        return told(capsys, "test", event, "call.json")

    code, said = tried("PreToolUse", tool_name="Bash", tool_input={"command": "rm -rf /"})
    assert code == 2
    assert ": exit 2, " in said
    assert said.endswith("verdict: deny\n  why: never rm -rf\n")
    assert tried("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})[0] == 0
    code, said = tried("PreToolUse", tool_name="Glob", tool_input={"pattern": "*"})
    assert (code, 'input: {"command": "ls"}' in said) == (0, True)
    code, said = tried("PreToolUse", tool_name="Write", tool_input={})
    assert (code, "broke: exit code 3" in said) == (1, True)
    Path("call.json").write_text('{"tool_name": "Write"}')
    assert told(capsys, "test", "PreToolUse", "call.json", "--headless")[0] == 2
    code, said = tried("PreToolUse", tool_name="Read", tool_input={})
    assert (code, said) == (0, "No hook hears of this; 3 of this event have another matcher.\n")
    code, said = tried("UserPromptSubmit", prompt="hello")
    assert (code, "context: it is late" in said) == (0, True)


def test_a_trial_of_hooks_that_are_not_taken_over_yet(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("theirs.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "exit 2"}]}]}}))
    Path("stop.json").write_text("{}")
    code, said = told(capsys, "test", "Stop", "stop.json", "--from", "theirs.json")
    assert (code, "verdict: the agent goes on" in said) == (2, True)
    assert not config.exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "hooks list"),
        (("test", "Nope", "call.json"), "is not one of"),
        (("test", "Stop", "none.json"), "there is no such file"),
        (("test", "Stop", "broken.json"), "not valid JSON"),
        (("test", "Stop", "other.json"), "hook_event_name: should be Stop"),
        (("import", "none.json"), "there is no such file"),
        (("list", "-C", "nowhere"), "there is no folder"),
    ],
)
def test_mistakes_are_usage_errors_that_name_the_remedy(
    config: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    Path("broken.json").write_text("{")
    Path("other.json").write_text('{"hook_event_name": "PreToolUse"}')
    code, said = told(capsys, *args)
    assert (code, words in said) == (2, True)
    assert not config.exists()


def test_a_folders_own_hooks_are_listed_and_not_run(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(".agent-tui").mkdir()
    raw = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran\x1b[2J"}]}]}}
    Path(".agent-tui/hooks.json").write_text(json.dumps(raw))
    code, said = told(capsys, "list")
    assert code == 0
    assert "not trusted: not used" in said
    assert "touch ran" in said
    assert "\x1b" not in said
    assert run(["trust", "--yes"]) == 0
    assert f"Brought along by {Path.cwd()}, trusted:" in told(capsys, "list")[1]
    assert not Path("ran").exists()
    assert not config.exists()


def test_the_example_in_the_readme_works_as_written(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = Path(__file__).parents[2].joinpath("README.md").read_text()
    section = readme.partition("\n## Hooks\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```(toml|sh)\n(.*?)```", section, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["toml", "sh"]
    config.mkdir()
    (config / "config.toml").write_text(blocks[0][1])
    call = re.search(r"echo '(.*)' \| agent-tui hooks test PreToolUse -", blocks[1][1])
    assert call is not None
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(call[1].encode())))
    code, said = told(capsys, "test", "PreToolUse", "-")
    assert (code, "why: Nobody pushes from here." in said) == (2, True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(call[1].replace("push", "log").encode())))
    assert told(capsys, "test", "PreToolUse", "-")[0] == 0


def test_doctor_counts_the_hooks_and_finds_a_broken_file(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.mkdir()
    (config / "config.toml").write_text("[[hooks.Stop]]\ncommand = 'true'\n")
    run(["doctor", "--demo"])
    assert "1 (agent-tui hooks list)" in capsys.readouterr().out
    (config / "hooks.json").write_text("{")
    assert run(["doctor", "--demo"]) == 1
    assert f"{config / 'hooks.json'}: this is not valid JSON" in capsys.readouterr().out
