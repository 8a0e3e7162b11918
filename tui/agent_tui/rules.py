"""Owns `agent-tui rules`: what the rules say of a call, which there are, and a person's changes to them.

Refuses to run a call, and to write any file but the one of remembered rules. The exit code of `test` is the
verdict, so that scripts can ask too: 0 allow, 1 ask, 2 deny.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TextIO, TypeVar

import click

from agent_tui.options import CONTEXT, config_option, data_dir_option, workspace_option
from agent_tui.rule_sources import Sources, find_sources, permissions_of, plain_line, rows_of, told_rule
from agent_tui.rules_learn import learn
from agent_tui_core.agent.judgement import Behavior, Judgement
from agent_tui_core.blocks import JsonObject
from agent_tui_core.config.modes import MODES, Mode
from agent_tui_core.config.rules_file import RULE_LISTS, RememberedRule, RuleList, add_rule, remove_rules
from agent_tui_core.errors import AgentTuiError, ConfigError, HistoryError
from agent_tui_core.text import visible_text

_EXIT: Final[dict[Behavior, int]] = {"allow": 0, "ask": 1, "deny": 2}
_COLORS: Final[dict[Behavior, str]] = {"allow": "green", "ask": "yellow", "deny": "red"}
_SAID_HERE: Final = "said here"
_EPILOG: Final = """\b
Examples:
  agent-tui rules list                                  what holds in this folder
  agent-tui rules add 'Bash(npm run *)'                 no question for it in this folder
  agent-tui rules add 'Read(*.pem)' --deny --everywhere
  agent-tui rules remove 'Bash(npm run *)'
  agent-tui rules learn                                 rules that your answers of 30 days would make
  agent-tui rules test Bash 'git log | sh'              what would be said, and why

\b
Deny goes before ask, ask before allow, wherever a rule stands: [permissions] in your settings, remembered
rules, a trusted project's .agent-tui/settings.toml. Exit code: 0, 1 nothing to remove, 2 usage or settings.
"""
_TEST_EPILOG: Final = """\b
Examples:
  agent-tui rules test Bash 'git log | sh'
  agent-tui rules test Bash 'npm run build && npm test' --allow 'Bash(npm *)'
  agent-tui rules test Write src/app.py --mode accept-edits
  agent-tui rules test mcp__git__git_log
  agent-tui rules test --batch corpus.jsonl             a verdict for each line, as JSON
  echo '{"command": "ls", "expect": "allow"}' | agent-tui rules test --batch -

\b
Exit code: 0 it would run, 1 a person would be asked, 2 it is denied (or the arguments were no good).
With --batch: 0 all is as expected, 1 something is not, 2 a line could not be read.
"""
_Command = TypeVar("_Command", bound=Callable[..., object])


@click.group(name="agent-tui rules", epilog=_EPILOG, context_settings=CONTEXT, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """See, add, remove and try the rules that say what agents may do. Nothing is run."""
    if ctx.invoked_subcommand is None:
        raise click.UsageError("Say what to do, for example: agent-tui rules list.")


# --- test ---------------------------------------------------------------------------------------------------


@command.command(name="test", epilog=_TEST_EPILOG, context_settings=CONTEXT)
@click.argument("tool", required=False)
@click.argument("what", required=False)
@click.option(
    "--batch",
    type=click.File(encoding="utf-8", errors="replace"),
    metavar="FILE",
    help="Judge each line of FILE (- is standard input); prints a JSON verdict for each.",
)
@click.option("--allow", multiple=True, metavar="RULE", help="Judge with this allow rule; may be repeated.")
@click.option("--ask", multiple=True, metavar="RULE", help="Judge with this ask rule; may be repeated.")
@click.option("--deny", multiple=True, metavar="RULE", help="Judge with this deny rule; may be repeated.")
@click.option("--mode", type=click.Choice(MODES), default="ask", show_default=True, help="The agent's mode.")
@click.option("--agent", metavar="NAME", help="The agent's name, for rules that hold for one agent.")
@workspace_option
@config_option
@data_dir_option
def test(
    tool: str | None,
    what: str | None,
    batch: TextIO | None,
    allow: tuple[str, ...],
    ask: tuple[str, ...],
    deny: tuple[str, ...],
    mode: Mode,
    agent: str | None,
    workspace: Path | None,
    config: Path | None,
    data_dir: Path | None,
) -> int:
    """Say whether TOOL may do WHAT: a command line for Bash, a path for the file tools, else nothing or JSON.

    Judged by all rules that hold in the folder, and by those that are said here.
    """
    from agent_tui.rules_batch import judge_batch
    from agent_tui_core.agent.rule_layer import PermissionRules
    from agent_tui_core.agent.suggestions import suggest_rule

    if (tool is None) == (batch is None):
        raise click.UsageError("Say a TOOL and what it would do, or --batch FILE.")
    try:
        said = PermissionRules(allow=allow, ask=ask, deny=deny, layer=_SAID_HERE)
    except ValueError as error:
        raise ConfigError(str(error), key="--allow, --ask, --deny") from error
    found = find_sources(workspace, config, data_dir)
    permissions = permissions_of(found, said).of_agent(mode, *([agent] if agent else []))
    permissions.unboxed = str  # as if the sandbox works: doctor says whether it does
    if batch is not None:
        return judge_batch(batch, partial(permissions.judge, cwd=found.folder))
    assert tool is not None
    call = _call(tool, what)
    judgement = permissions.judge(tool, call, cwd=found.folder)
    _tell(judgement)
    if judgement.behavior == "ask" and judgement.rule is None:
        remember = suggest_rule(tool, call, cwd=found.folder, permissions=permissions)
        click.echo(f"always: {visible_text(remember) if remember else '(nothing can be remembered)'}")
    return _EXIT[judgement.behavior]


def _call(tool: str, what: str | None) -> JsonObject:
    from agent_tui_core.agent.path_rules import PATH_KEYS

    if tool == "Bash" or tool in PATH_KEYS:
        if what is None:
            raise click.UsageError(
                f"Say what {tool} would do: a command line for Bash, a path for the others."
            )
        return {PATH_KEYS.get(tool, "command"): what}
    try:
        found = json.loads(what) if what else {}
    except ValueError as error:
        raise click.UsageError(f"The input of {visible_text(tool)} is no JSON object.") from error
    if not isinstance(found, dict):
        raise click.UsageError(f"The input of {visible_text(tool)} is no JSON object.")
    return found


def _tell(judgement: Judgement) -> None:
    """Verdict, reason, part and rule, a line each."""
    click.secho(judgement.behavior, fg=_COLORS[judgement.behavior], bold=True)
    click.echo(f"why:  {visible_text(judgement.reason)}")
    if judgement.part:
        click.echo(f"part: {visible_text(judgement.part)}")
    click.echo(f"rule: {visible_text(judgement.rule) if judgement.rule else '(none)'}")
    if judgement.layer:
        click.echo(f"from: {visible_text(judgement.layer)}")


# --- list ---------------------------------------------------------------------------------------------------


@command.command(name="list", context_settings=CONTEXT)
@click.option("everywhere", "--all", is_flag=True, help="Also what was remembered for other folders.")
@workspace_option
@config_option
@data_dir_option
def show(everywhere: bool, workspace: Path | None, config: Path | None, data_dir: Path | None) -> int:
    """List the rules that hold in a folder: what each says, where it is from, and where it is written."""
    found = find_sources(workspace, config, data_dir)
    rows = list(rows_of(found, everywhere=everywhere))
    for row in sorted(rows, key=lambda row: RULE_LISTS.index(row.behavior)):
        label = click.style(f"{row.behavior:<5}", fg=_COLORS[row.behavior])
        click.echo(f"{label}  {plain_line(row.rule)}")
        click.echo(f"       {plain_line(row.layer)} · {plain_line(row.place)}")
    if not rows:
        click.echo("There are no rules here. Add one: agent-tui rules add 'Bash(npm run *)'")
    click.echo(
        "Built in: reading in the folder and commands that only read run unasked; protected names are always "
        "asked about.",
        err=True,
    )
    return 0


# --- add, remove --------------------------------------------------------------------------------------------


def _scope_options(command: _Command) -> _Command:
    for option in (
        data_dir_option,
        config_option,
        click.option("--agent", metavar="NAME", help="Only for agents of this name."),
        click.option("--everywhere", is_flag=True, help="For every folder."),
        workspace_option,
    ):
        command = option(command)
    return command


@command.command(name="add", context_settings=CONTEXT)
@click.argument("rule")
@click.option("behavior", "--allow", flag_value="allow", default="allow", help="It runs; the default.")
@click.option("behavior", "--ask", flag_value="ask", help="It is asked about, whatever allows it.")
@click.option("behavior", "--deny", flag_value="deny", help="It never runs.")
@click.option("--dry-run", is_flag=True, help="Only say what it would have changed in the last 30 days.")
@_scope_options
def add(
    rule: str,
    behavior: RuleList,
    dry_run: bool,
    workspace: Path | None,
    everywhere: bool,
    agent: str | None,
    config: Path | None,
    data_dir: Path | None,
) -> int:
    """Remember RULE for this folder (or another one, or everywhere), from now on, also where agents run.

    Says first what it would have changed in the last 30 days.
    """
    from agent_tui_core.config.checks import rule_problem

    found = find_sources(workspace, config, data_dir)
    if problem := rule_problem(rule, found.settings.tools):
        raise ConfigError(problem, key="RULE")
    if visible_text(rule) != rule or "\n" in rule:
        raise ConfigError("a remembered rule is one line without invisible characters", key="RULE")
    folder = None if everywhere else found.folder
    new = RememberedRule(rule, behavior, folder, agent)
    _tell_effect(found, new)
    if dry_run:
        return 0
    added = add_rule(found.rules_file, new)
    click.echo(f"{'Added' if added else 'It is there already'}: {told_rule(new)}")
    return 0


def _tell_effect(found: Sources, rule: RememberedRule) -> None:
    """Say what it would have changed; a history that cannot be read keeps nobody from adding a rule."""
    from agent_tui.rules_history import effect_told

    try:
        effect = effect_told(found, rule)
    except HistoryError as error:
        click.echo(f"What it would have changed is not known: {plain_line(str(error))}", err=True)
        return
    if effect:
        click.echo(effect)


@command.command(name="remove", context_settings=CONTEXT)
@click.argument("rule")
@_scope_options
def remove(
    rule: str,
    workspace: Path | None,
    everywhere: bool,
    agent: str | None,
    config: Path | None,
    data_dir: Path | None,
) -> int:
    """Forget the remembered RULE: where it holds in this folder, or as the options say."""
    found = find_sources(workspace, config, data_dir)
    places = {None} if everywhere else {found.folder} if workspace else {None, found.folder}

    def is_meant(each: RememberedRule) -> bool:
        return each.rule == rule and each.workspace in places and agent in {None, each.agent}

    gone = [each for each in found.remembered if is_meant(each)]
    if remove_rules(found.rules_file, is_meant):
        for each in gone:
            click.echo(f"Removed: {told_rule(each)}")
        return 0
    others = [row for row in rows_of(found, everywhere=True) if row.rule == rule]
    if not others:
        raise AgentTuiError(f"there is no rule {plain_line(rule)}; agent-tui rules list --all shows all")
    where = "; ".join(f"{plain_line(row.layer)}: {plain_line(row.place)}" for row in others)
    raise AgentTuiError(
        f"nothing was removed. It stands elsewhere ({where}): for remembered rules say -C, --everywhere "
        "or --agent; a file that a person wrote is never changed here: remove it there"
    )


command.add_command(learn)
