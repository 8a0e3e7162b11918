"""Owns the options that several commands share, and what an id of a session looks like; refuses to act."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from agent_tui_core.config.profiles import MOST_AGENTS, Flags
from agent_tui_core.config.taping import Taping

NEWEST: Final = "newest"
HAS_AGENTS: Final = "A session that is resumed has its agents: leave out -a and -n, or --resume."
HELP_WIDTH: Final = 96
CONTEXT: Final = {"max_content_width": HELP_WIDTH, "help_option_names": ["-h", "--help"]}

_SESSION_ID: Final = re.compile(r"[0-9a-f]{4,32}")

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read these settings instead of config.toml in the usual place.",
)
data_dir_option = click.option(
    "--data-dir", type=click.Path(path_type=Path), metavar="DIR", help="Where history and log are kept."
)
workspace_option = click.option(
    "-C",
    "--workspace",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The agent's folder, instead of this one.",
)

_PLANNING: Final = (
    click.option(
        "agents",
        "-a",
        "--agent",
        multiple=True,
        metavar="NAME[=PROFILE]",
        help="Start an agent of this name; may be given more than once.",
    ),
    click.option(
        "count", "-n", "--agents", type=int, metavar="N", help=f"How many agents, 1 to {MOST_AGENTS}."
    ),
    click.option("-m", "--model", metavar="MODEL", help="The model that all agents use."),
    click.option(
        "--base-url", metavar="URL", help="An OpenAI-compatible server, like http://127.0.0.1:8000/v1."
    ),
    click.option(
        "-C",
        "--workspace",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The folder that the agents work in, instead of this one.",
    ),
    click.option(
        "--progress-timeout",
        type=float,
        metavar="SECONDS",
        help="Give up a request that has no text, call or usage for so long, whatever bytes come; 0: never. "
        "Without it never in the dashboard, half an hour in `run`.",
    ),
    config_option,
    data_dir_option,
    click.option("--demo", is_flag=True, help="Use the built-in scripted model, whatever is configured."),
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write every answer of a model into DIR, without keys.",
    ),
    click.option(
        "--replay",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Answer from what was recorded in DIR; no server is asked.",
    ),
    click.option(
        "--replay-pace",
        type=float,
        default=1.0,
        metavar="X",
        help="1: as slowly as recorded (the default), 0: as fast as possible.",
    ),
)


def planning_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which agents start, where, and on which model.

    The command takes them as one `flags`, and `config`.
    """

    @wraps(command)
    def with_flags(
        *args: Any,
        agents: tuple[str, ...],
        count: int | None,
        model: str | None,
        base_url: str | None,
        workspace: Path | None,
        progress_timeout: float | None,
        data_dir: Path | None,
        demo: bool,
        record: Path | None,
        replay: Path | None,
        replay_pace: float,
        **rest: Any,
    ) -> Any:
        taping = Taping(record, replay, replay_pace)
        flags = Flags(
            agents,
            count,
            model,
            base_url,
            workspace,
            None,
            demo,
            data_dir,
            taping,
            progress_timeout=progress_timeout,
        )
        return command(*args, flags=flags, **rest)

    planned: Callable[..., Any] = with_flags
    for option in reversed(_PLANNING):
        planned = option(planned)
    return planned


def hand_down(ctx: click.Context) -> None:
    """Let options said before a subcommand hold for it, unless it has its own."""
    assert isinstance(ctx.command, click.Group)
    said = {name: value for name, value in ctx.params.items() if value is not None}
    ctx.default_map = dict.fromkeys(ctx.command.commands, said)


def session_id(said: str) -> str | None:
    """The beginning of an id, "" for the word "newest", None for what can be neither."""
    if said == NEWEST:
        return ""
    return said if _SESSION_ID.fullmatch(said) else None
