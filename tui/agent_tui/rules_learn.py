"""Owns `agent-tui rules learn`: the rules that a person's answers would make, and their yes to some of them.

Refuses to add a rule that it did not propose just now.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from agent_tui.options import CONTEXT, config_option, data_dir_option, workspace_option
from agent_tui.rule_sources import find_sources, plain_line, told_rule
from agent_tui_core.config.rules_file import RememberedRule, add_rule

_LEARN_EPILOG: Final = """\b
Examples:
  agent-tui rules learn                    see what is proposed, and choose
  agent-tui rules learn --json             the same for a program, with all calls
  agent-tui rules learn --yes 1 --yes 'Bash(npm run *)'

\b
Each call is judged as the mode ask does, by the rules and files of today. Exit code: 0, 1 history cannot be
read, 2 usage or settings.
"""


@click.command(name="learn", epilog=_LEARN_EPILOG, context_settings=CONTEXT)
@click.option(
    "chosen", "--yes", multiple=True, metavar="N", help="Take over rule N, or this rule; may be repeated."
)
@click.option("as_json", "--json", is_flag=True, help="Print what is proposed as one JSON object.")
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How far to look back."
)
@workspace_option
@config_option
@data_dir_option
def learn(
    chosen: tuple[str, ...],
    as_json: bool,
    days: int,
    workspace: Path | None,
    config: Path | None,
    data_dir: Path | None,
) -> int:
    """Propose the fewest narrow rules that would have answered most questions in this folder as you did.

    And none otherwise: a rule that covers a call that you denied is not proposed. Nothing is taken over
    without a yes.
    """
    from agent_tui.rules_history import lesson_json, lesson_of, show_lesson

    found = find_sources(workspace, config, data_dir)
    lesson = lesson_of(found, days)
    proposed = [rule.rule for rule in lesson.rules]
    taken = _chosen(chosen, proposed)
    if as_json:
        click.echo(lesson_json(lesson))
    else:
        show_lesson(lesson, found, days)
        if proposed and not chosen:
            taken = _asked_for(proposed)
    for rule in taken:
        new = RememberedRule(rule, "allow", found.folder)
        added = add_rule(found.rules_file, new)
        click.echo(f"{'Added' if added else 'It is there already'}: {told_rule(new)}", err=as_json)
    return 0


def _asked_for(proposed: Sequence[str]) -> list[str]:
    """The rules that the person at the terminal wants; none where there is nobody."""
    if not sys.stdin.isatty():
        click.echo("\nNothing was taken over: say --yes with a number or a rule.", err=True)
        return []
    click.echo()
    while True:
        said = click.prompt(
            "Take over which? Their numbers, all, or nothing", default="", show_default=False, err=True
        )
        try:
            return list(proposed) if said.strip() == "all" else _chosen(re.split(r"[\s,]+", said), proposed)
        except click.UsageError as error:
            click.echo(error.message, err=True)


def _chosen(said: Sequence[str], proposed: Sequence[str]) -> list[str]:
    """The rules that these numbers, or the rules themselves, mean; raises for what is not proposed."""
    found: list[str] = []
    for each in filter(None, said):
        if each in proposed:
            found.append(each)
        elif each.isdecimal() and each.isascii() and 1 <= int(each[:9]) <= len(proposed):
            found.append(proposed[int(each[:9]) - 1])
        else:
            raise click.UsageError(
                f"{plain_line(each)} is none of the {len(proposed)} rules that are proposed."
            )
    return list(dict.fromkeys(found))
