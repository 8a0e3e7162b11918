"""Owns `agent-tui run`: its options, its signals and its streams; refuses a screen and to ask a person.

What happens in between is `agent_tui_core.runtime.headless`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import stat
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from agent_tui.options import CONTEXT, HAS_AGENTS, planning_options, session_id
from agent_tui.signals import ENDING
from agent_tui_core.agent.policy import OPTION, Policy, read_policy
from agent_tui_core.config.profiles import Flags
from agent_tui_core.errors import AgentTuiError, ConfigError
from agent_tui_core.records import dataclass
from agent_tui_core.system_limits import system_limit
from agent_tui_core.text import safe_line

if TYPE_CHECKING:
    from agent_tui_core.runtime.headless import Headless
    from agent_tui_core.runtime.session import Session

LONGEST_PROMPT: Final = 8 * 2**20
_STDIN: Final = 0
_EXAMPLES: Final = """\b
Examples:
  agent-tui run "why does the build fail?"            one agent; its words go to standard output
  git diff | agent-tui run - -n 2 -m MODEL            the prompt from standard input, two agents
  agent-tui run "run the tests" --approve "Bash(make test)" --approve "Edit(src/**)"
  agent-tui run "tidy up" --approve all -C ~/scratch  everything that no rule forbids
  agent-tui run --resume 1a2b3c4d "and now?"          goes on with an earlier session
  agent-tui run --json --approve ask < pipe           driven by another program: docs/headless.md

\b
Exit codes:
  0 completed   1 failed   2 usage or settings   3 stopped at a limit   130 interrupted
  Of several agents the worst counts.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """What one headless run is asked for."""

    prompt: str | None
    orders: int | None
    """The descriptor that JSON lines come from."""
    json: bool
    policy: Policy
    resume: str | None


@click.command(name="agent-tui run", epilog=_EXAMPLES, options_metavar="[OPTIONS]", context_settings=CONTEXT)
@click.argument("prompt", nargs=-1, metavar="[PROMPT]")
@planning_options
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object a line, out and in; see docs/headless.md."
)
@click.option(
    "--approve",
    multiple=True,
    metavar="POLICY",
    help="What may run without a question: deny (nothing more, the default), all, a rule like "
    '"Bash(git status *)", or ask (with --json: another program answers). May be given more than once.',
)
@click.option(
    "--resume", metavar="ID", help='Go on with the session whose id begins so, or with the "newest".'
)
def command(
    prompt: tuple[str, ...],
    flags: Flags,
    config: Path | None,
    as_json: bool,
    approve: tuple[str, ...],
    resume: str | None,
) -> int:
    """Run agents without a dashboard: their words go to standard output, all else to standard error.

    PROMPT goes to every agent. Without one, or with "-", it is read from standard input. Nobody is there to
    ask: what no rule allows is denied, and the denial says how to allow it.
    """
    policy = read_policy(approve)
    if len(prompt) > 1:
        raise click.UsageError("The prompt is one argument: put it in quotes.")
    if resume is not None and (flags.agents or flags.count is not None):
        raise click.UsageError(HAS_AGENTS)
    orders = _orders("".join(prompt), as_json=as_json) if as_json else None
    if policy.rest == "ask" and orders is None:
        raise ConfigError('"ask" needs --json and a pipe on standard input that answers', key=OPTION)
    words = _prompt(prompt, orders, demo=flags.demo)
    return start(flags, config, os.environ, Request(words, orders, as_json, policy, _resumed(resume)))


def _resumed(said: str | None) -> str | None:
    if said is None:
        return None
    found = session_id(said)
    if found is None:
        raise click.UsageError(f"'{said}' is no id of a session; agent-tui sessions lists them.")
    return found


def _orders(prompt: str, *, as_json: bool) -> int | None:
    """Where orders come from: standard input, when it is a pipe, a socket or a file and holds no prompt."""
    if not as_json or prompt == "-" or sys.stdin is None:
        return None
    try:
        mode = os.fstat(_STDIN).st_mode
    except OSError:
        return None
    attached = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)
    return _STDIN if attached else None


def _prompt(said: tuple[str, ...], orders: int | None, *, demo: bool) -> str | None:
    """The words to begin with; None when orders bring them, or the demo has its own."""
    words = "".join(said)
    if said and words != "-":
        if not words.strip():
            raise click.UsageError("The prompt is empty.")
        return words
    if orders is not None:
        return None
    if sys.stdin is None or (not said and sys.stdin.isatty()):
        if demo:
            return None
        raise click.UsageError('There is no prompt: say one, or "-" to type it here.')
    words = _from_stdin()
    if not words.strip() and not demo:
        raise click.UsageError("There is no prompt: standard input is empty.")
    return words if words.strip() else None


def _from_stdin() -> str:
    data = sys.stdin.buffer.read(LONGEST_PROMPT + 1)
    if len(data) > LONGEST_PROMPT:
        raise click.UsageError(f"The prompt on standard input is longer than {LONGEST_PROMPT // 2**20} MiB.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(
            f"The prompt on standard input is no UTF-8 text (byte {error.start})."
        ) from error


def start(flags: Flags, config: Path | None, environ: Mapping[str, str], request: Request) -> int:
    """Run the agents; return the exit code. Raises `AgentTuiError` for what stops a start."""
    from agent_tui.launch import open_log, secrets
    from agent_tui_core.config.load import load_settings
    from agent_tui_core.config.profiles import plan
    from agent_tui_core.runtime.session import open_session

    if sys.stdout is None:
        raise ConfigError("standard output is closed: there is nowhere to write to")
    gc.enable()
    planned = plan(load_settings(config, environ=environ), flags, environ)
    hidden = secrets(planned, environ)
    file = open_log(planned.data_dir, hidden)
    pace = 1.0 if sys.stdout.isatty() else 0.0
    opened = open_session(planned, resume=request.resume, demo_pace=pace, policy=request.policy)
    try:
        return asyncio.run(_run(opened, request, hidden))
    except AgentTuiError:
        raise
    except Exception as error:
        logging.getLogger("agent_tui").exception("the program ended by a mistake of its own")
        if limit := system_limit(error):
            raise AgentTuiError(limit) from error
        raise AgentTuiError(
            f"ended by a mistake of its own: {type(error).__name__}: {safe_line(str(error))}. "
            f"The details are in {file}"
        ) from error


async def _run(opened: AbstractAsyncContextManager[Session], request: Request, hidden: list[str]) -> int:
    from agent_tui_core.runtime.headless import Headless
    from agent_tui_core.runtime.pipes import NOWHERE, OutputPipes
    from agent_tui_core.runtime.printing import JsonPrinter, TextPrinter

    ending = _Ending()
    err = NOWHERE if sys.stderr is None else sys.stderr.fileno()
    pipes = OutputPipes(sys.stdout.fileno(), err, broken=ending.output_broke, secrets=hidden)
    try:
        async with ending, opened as session:
            printer = JsonPrinter(pipes) if request.json else TextPrinter(pipes)
            ending.headless = Headless(session, printer)
            code = await ending.headless.run(request.prompt, request.orders)
            await pipes.drained()
    except asyncio.CancelledError:
        if ending.code is None:
            raise
        return ending.code
    finally:
        pipes.close()
    if ending.failure is not None:
        raise ending.failure
    return code if ending.code is None else ending.code


class _Ending:
    """While it is entered, a signal ends the run in order, and a second one at once."""

    def __init__(self) -> None:
        self.headless: Headless | None = None
        self.code: int | None = None
        self.failure: AgentTuiError | None = None
        self._task: asyncio.Task[object] | None = None
        self._handled: list[int] = []

    async def __aenter__(self) -> None:
        self._task = asyncio.current_task()
        for number in ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or a job in the background of a script
                asyncio.get_running_loop().add_signal_handler(number, self._end, number)
                self._handled.append(number)

    async def __aexit__(self, *_error: object) -> None:
        for number in self._handled:
            asyncio.get_running_loop().remove_signal_handler(number)

    def output_broke(self, error: OSError) -> None:
        """Nobody reads any more, or nothing more can be written: end, quietly in the first case."""
        from agent_tui_core.runtime.headless import EXIT_FAILED

        if not isinstance(error, BrokenPipeError):
            self.failure = AgentTuiError(f"standard output cannot be written: {error.strerror or error}")
        self.code = EXIT_FAILED if self.code is None else self.code
        if self.headless is not None:
            self.headless.stop(self.code)

    def _end(self, number: int) -> None:
        again, self.code = self.code is not None, 128 + number
        if self.headless is None or again:
            if self.headless is not None:
                self.headless.hurry()
            if self._task is not None:
                self._task.cancel()
        else:
            self.headless.stop(self.code)
