"""Owns `agent-tui hooks`: which command hooks there are, what they say to a trial, and taking over others'.

Refuses to weigh what they say and to know their contract: that is `agent_tui_core.hooks`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from agent_tui.options import CONTEXT, config_option, data_dir_option, workspace_option
from agent_tui_core.config.equipment import HOOK_POINTS, HookPoint
from agent_tui_core.config.paths import absolute, config_dir, settings_file
from agent_tui_core.errors import ConfigError
from agent_tui_core.text import safe_line, visible_text

if TYPE_CHECKING:
    from agent_tui_core.hooks.command import CommandHook

_EPILOG: Final = """\b
Examples:
  agent-tui hooks list                       every hook, where it comes from, what it does when it breaks
  agent-tui hooks test PreToolUse call.json  run those that hear of this call; nothing else runs
  agent-tui hooks import ~/.claude/settings.json
  agent-tui hooks import PLUGIN/hooks/hooks.json --plugin-root PLUGIN
"""
_TEST_EPILOG: Final = """\b
Examples:
  echo '{"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}' > call.json
  agent-tui hooks test PreToolUse call.json
  agent-tui hooks test PreToolUse call.json --from ~/.claude/settings.json
  echo '{"prompt": "hello"}' | agent-tui hooks test UserPromptSubmit -

\b
Exit code: 0 it goes on, 1 a person is asked or a hook broke, 2 it is blocked (or the arguments were no good).
"""


_plugin_root_option = click.option(
    "--plugin-root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the plugin that FILE is from, for commands with ${CLAUDE_PLUGIN_ROOT}.",
)


@click.group(name="agent-tui hooks", context_settings=CONTEXT, invoke_without_command=True, epilog=_EPILOG)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Command hooks: programs that hear of prompts, calls and results, and may speak."""
    if ctx.invoked_subcommand is None:
        raise click.UsageError("Say what to do, for example: agent-tui hooks list.")


@command.command(name="list", context_settings=CONTEXT, short_help="Every hook, of all layers.")
@config_option
@data_dir_option
@workspace_option
def list_hooks(config: Path | None, data_dir: Path | None, workspace: Path | None) -> int:
    """List the hooks of all layers, in the order in which they count."""
    from agent_tui.rule_sources import find_sources
    from agent_tui_core.runtime.hook_layers import project_hooks
    from agent_tui_core.runtime.session_hooks import NO_HOOKS

    own = _own_hooks(config)
    found = find_sources(workspace, config, data_dir)
    for hook in own:
        _show(hook)
    brought: Sequence[CommandHook] = ()
    if (project := found.project) is not None:
        brought, problems = project_hooks(project.equipment, project.hooks_json, project.root)
        if brought or problems:
            state = "trusted" if found.trusted else "not trusted: not used (agent-tui trust)"
            click.echo(f"Brought along by {visible_text(str(found.folder))}, {state}:")
        for hook in brought:
            _show(hook)
        for problem in problems:
            click.echo(f"  not used: {visible_text(problem)}")
    if not own and not brought:
        click.echo(NO_HOOKS)
    return 0


@command.command(
    name="test", epilog=_TEST_EPILOG, context_settings=CONTEXT, short_help="Try the hooks of an event."
)
@click.argument("event", type=click.Choice(HOOK_POINTS), metavar="EVENT")
@click.argument("file")
@config_option
@workspace_option
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The hooks of this JSON file, instead of those that are configured.",
)
@_plugin_root_option
@click.option("--headless", is_flag=True, help="As in a run where nobody can be asked.")
def test(
    event: HookPoint,
    file: str,
    config: Path | None,
    workspace: Path | None,
    source: Path | None,
    plugin_root: Path | None,
    headless: bool,
) -> int:
    """Run the hooks of EVENT with the JSON object in FILE ("-": standard input), and show what they say.

    EVENT is UserPromptSubmit, PreToolUse, PostToolUse, PostToolUseFailure, PermissionRequest, Notification,
    Stop, SessionStart or SessionEnd.
    """
    from agent_tui_core.hooks.files import parse_table
    from agent_tui_core.runtime.hook_layers import file_hooks
    from agent_tui_core.runtime.hook_trial import told_of, trial

    folder = _folder(workspace)
    if source is None and plugin_root is not None:
        raise click.UsageError("--plugin-root is about the hooks of a file: say --from FILE as well.")
    root = "" if plugin_root is None else str(_plugin_folder(plugin_root))
    hooks = _own_hooks(config) if source is None else file_hooks(absolute(source), root)
    told = parse_table(_input(file), "standard input" if file == "-" else file)
    named = told.get("hook_event_name", event)
    if named != event:
        raise ConfigError(f"should be {event}, or be left out", file=file, key="hook_event_name")
    code, lines = told_of(asyncio.run(trial(hooks, event, told, folder, attended=not headless)))
    for line in lines:
        click.echo(visible_text(line))
    return code


@command.command(
    name="import", context_settings=CONTEXT, short_help="Take over hooks from another tool's settings."
)
@click.argument("file", type=click.Path(path_type=Path))
@_plugin_root_option
@click.option("--yes", is_flag=True, help="Add them without a question.")
def import_hooks(file: Path, plugin_root: Path | None, yes: bool) -> int:
    """Show the hooks in another tool's settings FILE, and add them to your hooks.json after a yes.

    For example: agent-tui hooks import ~/.claude/settings.json. The file is only read. Hooks that cannot run
    here are told and left out.
    """
    from agent_tui_core.config.private_files import replace_private
    from agent_tui_core.hooks.files import add_hooks, parse_table, read_hooks
    from agent_tui_core.runtime.hook_layers import HOOKS_FILE, read_file

    chosen = absolute(file)
    raw = read_file(chosen)
    if raw is None:
        raise ConfigError("there is no such file", file=str(file))
    found = read_hooks(raw, str(file), plugin_root=_plugin_root(raw, chosen, plugin_root))
    target = config_dir(os.environ) / HOOKS_FILE
    there = read_file(target)
    table: dict[str, Any] = {} if there is None else parse_table(there, str(target))
    if there is not None and (broken := read_hooks(there, str(target)).problems):
        raise broken[0]
    merged, added = add_hooks(table, found.hooks)
    for hook in found.hooks:
        _show(hook)
    for problem in found.problems:
        click.echo(f"  left out: {visible_text(str(problem))}")
    if not found.hooks:
        click.echo("Nothing to add: there is no hook in it that can run here.")
        return 0
    if not added:
        click.echo(
            f"Nothing to add: {len(found.hooks)} found, all of them are in {visible_text(str(target))}."
        )
        return 0
    question = (
        f"Add {added} {'hook' if added == 1 else 'hooks'} to {visible_text(str(target))}? They run as you."
    )
    if not yes and not _confirmed(question):
        click.echo("Nothing was changed.")
        return 1
    replace_private(target, json.dumps(merged, indent=2, ensure_ascii=False) + "\n")
    click.echo(f"Added {added} to {visible_text(str(target))}. They count from the next start on.")
    return 0


def _plugin_root(raw: bytes, file: Path, said: Path | None) -> str:
    """The folder that the commands in a file mean by ${CLAUDE_PLUGIN_ROOT}; empty when none does."""
    from agent_tui_core.hooks.files import without_plugin_root

    if said is not None:
        folder = _plugin_folder(said)
    elif not (commands := without_plugin_root(raw, str(file))):
        return ""
    else:
        guess = file.parent.parent if file.parent.name == "hooks" else None
        count = "One command means a file" if len(commands) == 1 else f"{len(commands)} commands mean files"
        click.echo(f"{count} in the folder of its plugin, by ${{CLAUDE_PLUGIN_ROOT}}:")
        for command in commands:
            click.echo(f"    {visible_text(safe_line(command))}")
        if not sys.stdin.isatty():
            remedy = safe_line(shlex.quote(str(guess or "DIR")))
            words = f"say which folder that is: --plugin-root {remedy}"
            raise ConfigError(words, file=str(file), key="CLAUDE_PLUGIN_ROOT")
        shown = None if guess is None or visible_text(str(guess)) != str(guess) else str(guess)
        folder = _plugin_folder(Path(click.prompt("Which folder is that", default=shown)))
    for command in without_plugin_root(raw, str(file)):
        if missing := _missing(command, folder):
            words = f"there is no {missing} in this folder; is it the one of the plugin?"
            raise ConfigError(words, file=str(folder), key="--plugin-root")
    return str(folder)


def _plugin_folder(said: Path) -> Path:
    folder = absolute(said).resolve()
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {safe_line(str(said))}", key="--plugin-root")
    return folder


def _missing(command: str, folder: Path) -> str | None:
    """A file of the plugin that a command names by simple words, and that is not there."""
    for name in re.findall(r"\$\{?CLAUDE_PLUGIN_ROOT\}?[\"']?/([\w./-]+)", command):
        if not (folder / name).exists():
            return safe_line(name)
    return None


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody is there to ask: say --yes.")
    return click.confirm(question, default=False)


def _own_hooks(config: Path | None) -> Sequence[CommandHook]:
    from agent_tui_core.config.load import load_settings
    from agent_tui_core.runtime.hook_layers import HOOKS_FILE, file_hooks, settings_hooks

    settings = load_settings(config, environ=os.environ)
    file = settings_file(os.environ) if config is None else absolute(config)
    own = config_dir(os.environ) / HOOKS_FILE
    return (*settings_hooks(settings.hooks, str(file)), *file_hooks(own))


def _folder(workspace: Path | None) -> Path:
    folder = (Path.cwd() if workspace is None else absolute(workspace)).resolve()
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {safe_line(str(workspace))}", key="--workspace")
    return folder


def _input(file: str) -> bytes:
    from agent_tui_core.hooks.files import LARGEST_FILE
    from agent_tui_core.runtime.hook_layers import read_file

    if file == "-":
        return sys.stdin.buffer.read(LARGEST_FILE + 1)
    raw = read_file(absolute(file))
    if raw is None:
        raise ConfigError("there is no such file", file=file)
    return raw


def _show(hook: CommandHook) -> None:
    from agent_tui_core.runtime.hook_report import when_broken

    matcher = f" {safe_line(hook.matcher)}" if hook.matcher else ""
    click.echo(f"{hook.point}{visible_text(matcher)}")
    for line in hook.command.splitlines():
        click.echo(f"    {visible_text(line)}")
    given = f" · given {', '.join(map(safe_line, hook.environment))}" if hook.environment else ""
    given += f" · plugin {visible_text(safe_line(hook.plugin_root))}" if hook.plugin_root else ""
    click.echo(f"  {visible_text(hook.source)} · time-out {hook.timeout:g} s · {when_broken(hook)}{given}")
