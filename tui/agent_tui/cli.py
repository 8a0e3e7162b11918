"""Owns the command line: options, help, exit codes and how an error is told; refuses to open a screen.

Nothing heavy is imported before it is needed: `--help`, `--version` and a mistyped option answer at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from agent_tui.options import CONTEXT, HAS_AGENTS, NEWEST, planning_options, session_id
from agent_tui_core.config.profiles import Flags
from agent_tui_core.errors import AgentTuiError, ConfigError
from agent_tui_core.text import safe_text

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130

DISTRIBUTION: Final = "agent-tui-dashboard"
_LITERAL: Final = "agent_tui.literal"
_ROOMS: Final = ("run", "sessions", "export", "rules", "trust", "hooks", "mcp", "tool-result")
"""Words that, said first, are commands with options of their own."""
_BARE_TERMINALS: Final = {"dumb", "unknown"}
"""What `TERM` says where nothing can be moved or coloured. Without it a terminal is taken for a usual one."""
_EXAMPLES: Final = """\b
Examples:
  agent-tui                               what is configured, a local server, or the demo
  agent-tui --demo                        four scripted agents; needs nothing
  agent-tui "find the slowest test" -n 3  the same task to three agents
  agent-tui -a ann=coder -a rob=reviewer  agents by name, each made from a profile
  agent-tui --base-url http://127.0.0.1:11434/v1 -m MODEL
  agent-tui --resume                      the newest session, as it was
  agent-tui doctor                        what was found, and what would start
  agent-tui run "fix the tests"           without a dashboard; agent-tui run --help
  agent-tui sessions                      what was kept; agent-tui export writes one out
  agent-tui rules test Bash 'git log'     what the rules say of a call; agent-tui rules list
  agent-tui trust                         what this folder brings along; trust it or not
  agent-tui tool-result CALL_ID --result  the result of a call that waits for it from outside
  agent-tui mcp probe NAME                what a server offers; agent-tui mcp list
  agent-tui hooks list                    command hooks; agent-tui hooks --help
  agent-tui -- doctor                     the word "doctor" as a prompt

\b
Environment:
  OPENAI_BASE_URL  OPENAI_API_KEY  AGENT_TUI_MODEL  AGENT_TUI_DATA_DIR  AGENT_TUI_CONFIG_DIR
  NO_COLOR. An option goes before the environment, the environment before the settings file.
"""


def run(args: Sequence[str]) -> int:
    """Do what the arguments say; return the exit code: 0, 1 failed, 2 usage or settings, 130 interrupted."""
    word = args[0] if args and args[0] in _ROOMS else ""
    name = f"agent-tui {word}".strip()
    try:
        chosen, rest = (_room(word), args[1:]) if word else (command, args)
        return int(chosen.main(list(rest), prog_name=name, standalone_mode=False) or 0)
    except click.ClickException as error:
        return _complain(f"{error.format_message()} See {name} --help.", EXIT_USAGE)
    except ConfigError as error:
        return _complain(str(error), EXIT_USAGE)
    except AgentTuiError as error:
        return _complain(str(error), EXIT_FAILED)
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except OSError as error:
        _forget_output()
        if isinstance(error, BrokenPipeError):  # whoever read our output has enough
            return EXIT_FAILED
        return _complain(f"input or output failed: {error.strerror or error}", EXIT_FAILED)


def _forget_output() -> None:
    """Let what is unwritten go nowhere: trying again at the end would print a traceback."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _room(word: str) -> click.Command:
    room: click.Command = import_module(f"agent_tui.{word.replace('-', '_')}").command
    return room


def version() -> str:
    """The version of the distribution that is installed."""
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "(not installed)"


class Program(click.Command):
    """One command whose argument is free text; it remembers whether `--` was said."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does."""
        ctx.meta[_LITERAL] = "--" in args
        return super().parse_args(ctx, args)


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"agent-tui {version()}")
        ctx.exit()


@click.command(
    cls=Program,
    epilog=_EXAMPLES,
    options_metavar="[OPTIONS]",
    context_settings=CONTEXT,
)
@click.argument("prompt", nargs=-1, metavar=f"[PROMPT | doctor | {' | '.join(_ROOMS)}]")
@planning_options
@click.option("--theme", metavar="NAME", help="Colours for this start.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value=NEWEST,
    metavar="[ID]",
    help="Bring a session back: the newest, or the one whose id begins so.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def command(
    ctx: click.Context,
    prompt: tuple[str, ...],
    flags: Flags,
    config: Path | None,
    theme: str | None,
    resume: str | None,
) -> int:
    """Run, watch, approve, redirect and stop many LLM agents in one terminal.

    PROMPT goes to every agent at the start. "agent-tui doctor" opens nothing: it reports what was found
    and what would start, with the same options. "agent-tui run" works without a dashboard.
    """
    flags = replace(flags, theme=theme)
    if prompt == ("doctor",) and not ctx.meta[_LITERAL]:
        from agent_tui.doctor import examine

        return examine(flags, config, os.environ)
    if prompt and prompt[0] in _ROOMS and not ctx.meta[_LITERAL]:
        raise click.UsageError(f"Say the command first, its options behind it: agent-tui {prompt[0]} …")
    if len(prompt) > 1:
        raise click.UsageError("The prompt is one argument: put it in quotes.")
    _check_terminal()
    from agent_tui.launch import launch

    if resume is not None and (flags.agents or flags.count is not None):
        raise click.UsageError(HAS_AGENTS)
    session = _session_id(resume, prompt)
    return launch(flags, config, os.environ, prompt="".join(prompt).strip() or None, resume=session)


def _session_id(resume: str | None, prompt: tuple[str, ...]) -> str | None:
    """What `--resume` names: None for a new session, "" for the newest."""
    if resume is None:
        return None
    found = session_id(resume)
    if found is None:
        said = "" if prompt else "; to resume the newest with a prompt, put the prompt before --resume"
        raise click.UsageError(f"'{resume}' is no id of a session{said}.")
    return found


def _check_terminal() -> None:
    """Raise `ConfigError` when there is no terminal to read keys from, or to draw on (that is stderr)."""
    for name, stream in (("input", sys.stdin), ("output", sys.stdout), ("error output", sys.__stderr__)):
        if stream is None or not stream.isatty():
            raise ConfigError(
                f"a dashboard needs a terminal, and its {name} is none; 'agent-tui doctor' works without"
            )

    if os.environ.get("TERM") in _BARE_TERMINALS:
        raise ConfigError(
            "this terminal can show no dashboard (TERM=dumb); 'agent-tui run' works without one", key="TERM"
        )


def _complain(message: str, code: int) -> int:
    click.echo(f"agent-tui: {safe_text(message)}", err=True)
    return code
