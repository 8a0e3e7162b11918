"""Owns `agent-tui rules`: what the rules say of a call before anybody makes it; refuses to run it.

Its exit code is the verdict, so that scripts can ask too: 0 allow, 1 ask, 2 deny.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from agent_tui.options import CONTEXT
from agent_tui_core.agent.judgement import Behavior, Judgement
from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.modes import MODES, Mode
from agent_tui_core.config.paths import absolute
from agent_tui_core.errors import ConfigError
from agent_tui_core.text import visible_text

_EXIT: Final[dict[Behavior, int]] = {"allow": 0, "ask": 1, "deny": 2}
_COLORS: Final[dict[Behavior, str]] = {"allow": "green", "ask": "yellow", "deny": "red"}
_EPILOG: Final = """\b
Examples:
  agent-tui rules test Bash 'git log | sh'
  agent-tui rules test Bash 'npm run build && npm test' --allow 'Bash(npm *)'
  agent-tui rules test Write src/app.py --mode accept-edits

\b
Exit code: 0 it would run, 1 a person would be asked, 2 it is denied (or the arguments were no good).
"""


@click.group(name="agent-tui rules", context_settings=CONTEXT, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Ask the rules what they say of a call; nothing is run."""
    if ctx.invoked_subcommand is None:
        raise click.UsageError("Say what to do, for example: agent-tui rules test Bash 'git log'.")


@command.command(name="test", epilog=_EPILOG, context_settings=CONTEXT)
@click.argument("tool")
@click.argument("what")
@click.option("--allow", multiple=True, metavar="RULE", help="Judge with this allow rule; may be repeated.")
@click.option("--ask", multiple=True, metavar="RULE", help="Judge with this ask rule; may be repeated.")
@click.option("--deny", multiple=True, metavar="RULE", help="Judge with this deny rule; may be repeated.")
@click.option("--mode", type=click.Choice(MODES), default="ask", show_default=True, help="The agent's mode.")
@click.option(
    "-C",
    "--workspace",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The agent's folder, instead of this one.",
)
def test(
    tool: str,
    what: str,
    allow: tuple[str, ...],
    ask: tuple[str, ...],
    deny: tuple[str, ...],
    mode: Mode,
    workspace: Path | None,
) -> int:
    """Say whether TOOL may do WHAT: a command line for Bash, a path for the file tools."""
    from agent_tui_core.agent.permissions import PermissionRules, Permissions, suggest_rule

    folder = absolute(workspace) if workspace is not None else Path.cwd()
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {visible_text(str(folder))}", key="--workspace")
    try:
        rules = PermissionRules(allow=allow, ask=ask, deny=deny)
    except ValueError as error:
        raise ConfigError(str(error), key="--allow, --ask, --deny") from error
    permissions = Permissions(rules, mode=mode)
    call = _call(tool, what)
    judgement = permissions.judge(tool, call, cwd=folder)
    _tell(judgement)
    if judgement.behavior == "ask" and judgement.rule is None:
        remember = suggest_rule(tool, call, cwd=folder, permissions=permissions)
        click.echo(f"always: {visible_text(remember) if remember else '(nothing can be remembered)'}")
    return _EXIT[judgement.behavior]


def _call(tool: str, what: str) -> JsonObject:
    from agent_tui_core.agent.path_rules import PATH_KEYS

    return {PATH_KEYS.get(tool, "command"): what}


def _tell(judgement: Judgement) -> None:
    """Verdict, reason, part and rule, a line each."""
    click.secho(judgement.behavior, fg=_COLORS[judgement.behavior], bold=True)
    click.echo(f"why:  {visible_text(judgement.reason)}")
    if judgement.part:
        click.echo(f"part: {visible_text(judgement.part)}")
    click.echo(f"rule: {visible_text(judgement.rule) if judgement.rule else '(none)'}")
