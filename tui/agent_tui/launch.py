"""Owns one start of the dashboard, from the settings to the last line after it; refuses to draw.

The session is opened around the app, so an agent outlives every pane; signals end both in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import faulthandler
import gc
import logging
import os
import queue
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui.signals import ENDING, name_of
from agent_tui.terminal_guard import guarded_terminal
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.config.servers import OPENAI_KEY
from agent_tui_core.config.words import nearest
from agent_tui_core.errors import AgentTuiError, ConfigError
from agent_tui_core.events import RunStarted
from agent_tui_core.system_limits import system_limit
from agent_tui_core.text import safe_line, safe_text

if TYPE_CHECKING:
    from agent_tui.app import AgentTuiApp
    from agent_tui_core.runtime.session import Session

LOG_NAME: Final = "agent-tui.log"
LARGEST_LOG: Final = 4 * 2**20
SETTLED_AFTER: Final = 1.0
"""Seconds from the start of the app to the one full garbage collection, when nobody waits for a key."""
SHORT_ID: Final = 8
_ALWAYS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that count although whoever started the program had it ignore them: a closed window is one."""
DEAF_AFTER: Final = 10.0
"""Seconds in which the event loop has to hear of a signal; after them it never will."""
_HUNG_UP: Final = 128 + signal.SIGHUP

log = logging.getLogger("agent_tui")


def launch(
    flags: Flags, config: Path | None, environ: Mapping[str, str], *, prompt: str | None, resume: str | None
) -> int:
    """Run the dashboard until it is left; return the exit code.

    `resume` is the id of a session, "" for the newest, None for a new one. Raises `AgentTuiError` for what
    stops a start.
    """
    with guarded_terminal():  # first, while there is little in memory that the guard would keep
        planned = plan(load_settings(config, environ=environ), flags, environ)
        file = open_log(planned.data_dir, secrets(planned, environ))
        check_keys(planned)
        with _crashes_told(file):
            return _open(planned, file, prompt, resume)


def _open(planned: Plan, file: Path, prompt: str | None, resume: str | None) -> int:
    from agent_tui.app import AgentTuiApp
    from agent_tui_core.runtime.session import open_session

    try:
        opened = open_session(planned, resume=resume)
        return asyncio.run(_run(opened, lambda session: AgentTuiApp(session, prompt=prompt)))
    except (AgentTuiError, KeyboardInterrupt):
        raise
    except Exception as error:
        told = _told(error)
        if told is not None:
            raise told from error
        log.exception("the program ended by a mistake of its own")
        if limit := system_limit(error):
            raise AgentTuiError(limit) from error
        raise AgentTuiError(
            f"ended by a mistake of its own: {type(error).__name__}: {safe_line(str(error))}. "
            f"The details are in {file}"
        ) from error


@contextlib.contextmanager
def _crashes_told(file: Path) -> Iterator[None]:
    """Write down where it was when the interpreter itself fails: by a library in C, say."""
    with file.open("a", encoding="utf-8") as stream:
        faulthandler.enable(stream)
        try:
            yield
        finally:
            faulthandler.disable()


def check_keys(planned: Plan) -> None:
    """Raise `ConfigError` when `[keys]` names an action that does not exist."""
    if not planned.keys:
        return
    from agent_tui.actions import ACTIONS

    known = [action.id for action in ACTIONS]
    for wrong in planned.keys:
        if wrong not in known:
            raise ConfigError(
                f"there is no action '{safe_line(wrong)}'; {nearest(wrong, known)}",
                key=f"keys.{safe_line(wrong)}",
            )


def open_log(folder: Path, secrets: Iterable[str]) -> Path:
    """Send all logging and all warnings to a private file in `folder`; raises `ConfigError`.

    Nothing may write to the terminal beside the app. A file that grew large is kept as `….log.1`.
    """
    file = folder / LOG_NAME
    try:
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_size > LARGEST_LOG:
                file.replace(file.with_name(f"{LOG_NAME}.1"))
        _make_private(file)
        handler = logging.FileHandler(file, encoding="utf-8", errors="replace")
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(
            f"nothing can be written into {safe_line(str(folder))}: {why}", key="data folder"
        ) from error
    handler.setFormatter(_Private(secrets))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for ours in ("agent_tui", "agent_tui_core"):
        logging.getLogger(ours).setLevel(logging.INFO)
    logging.captureWarnings(True)
    return file


def _make_private(file: Path) -> None:
    """Create the file and its missing folders for their owner alone, whatever the umask; raises OSError."""
    for folder in reversed([folder for folder in file.parents if not folder.exists()]):
        folder.mkdir(0o700, exist_ok=True)
        folder.chmod(0o700)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "the log is not a regular file")
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


class _Private(logging.Formatter):
    """One record, with keys blacked out and nothing in it that could move a terminal or forge a record."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
        self._secrets = tuple(secret for secret in secrets if secret)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return safe_text(text).replace("\n", "\n    ")


def secrets(planned: Plan, environ: Mapping[str, str]) -> list[str]:
    """What may never be written anywhere: the keys that this start could use."""
    all_providers = [*planned.providers.values(), *planned.configured.values()]
    names = {OPENAI_KEY, *(provider.api_key_env for provider in all_providers)}
    return [environ.get(name, "").strip() for name in names if name]


async def _run(
    opened: AbstractAsyncContextManager[Session], dashboard: Callable[[Session], AgentTuiApp]
) -> int:
    ending = _Ending()
    try:
        async with ending, opened as session:
            app = dashboard(session)
            settle = asyncio.get_running_loop().call_later(SETTLED_AFTER, _settle)
            with ending.around(app):
                await app.run_async(mouse=session.plan.mouse)
            settle.cancel()
            farewell = _farewell(session)
    except asyncio.CancelledError:
        if ending.code is None:
            raise
        if ending.code == _HUNG_UP:
            _forget_terminal()
        return ending.code
    if ending.code == _HUNG_UP:
        _forget_terminal()
    elif farewell:
        print(farewell)  # noqa: T201 - the app is gone, the terminal is the shell's again
    return app.return_code or 0 if ending.code is None else ending.code


def _settle() -> None:
    """Keep what start-up built from the collector, its walks short, and threads from waiting for each other.

    The threads that read keys and write the screen are ready in microseconds, but get the interpreter only
    when the event loop's thread lets go of it: by itself after 5 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 50, 100)
    gc.enable()
    sys.setswitchinterval(0.001)


def _farewell(session: Session) -> str | None:
    """How to come back; None when no agent was told anything."""
    for worker in session.workers:
        subscription = worker.subscribe()
        said = any(isinstance(event.body, RunStarted) for event in subscription.take())
        subscription.close()
        if said:
            return f"To come back to this session: agent-tui --resume {session.id[:SHORT_ID]}"
    return None


def _forget_terminal() -> None:
    """Let what is unwritten go nowhere: writing to a terminal that is gone would change the exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _let_go(writer: threading.Thread) -> None:
    """Let nobody wait for a writer that died with its terminal: its queue takes everything from now on.

    Textual starts another writer when the program is continued (SIGCONT comes with a hang-up), and waits for
    room in a queue that a dead one no longer empties.
    """
    waiting = getattr(writer, "_queue", None)
    if isinstance(waiting, queue.Queue):
        with waiting.mutex:
            waiting.maxsize = sys.maxsize
            waiting.not_full.notify_all()


def _told(error: Exception) -> AgentTuiError | None:
    """The one error of ours inside a group of errors, if that is all there is."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error if isinstance(error, AgentTuiError) else None


class _Ending:
    """While it is entered, a signal that asks the program to end does so in order; a second one at once."""

    def __init__(self) -> None:
        self.app: AgentTuiApp | None = None
        self.code: int | None = None
        self._starting = True
        self._handled: list[int] = []
        self._unheard: tuple[int, float] | None = None
        """The signal of which the loop has not heard yet, and when it came."""
        self._task: asyncio.Task[object] | None = None

    async def __aenter__(self) -> None:
        self._task = asyncio.current_task()
        for number in ENDING:
            if number in _ALWAYS or signal.getsignal(number) != signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, self._end, number)
                signal.signal(number, self._came)  # asyncio hears by a pipe, whoever is called
                self._handled.append(number)

    async def __aexit__(self, *_error: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in self._handled:
            asyncio.get_running_loop().remove_signal_handler(number)

    @contextlib.contextmanager
    def around(self, app: AgentTuiApp) -> Iterator[None]:
        """While the app runs the first signal closes it; after that the session is closing anyway."""
        self.app, self._starting = app, False
        loop, before = asyncio.get_running_loop(), threading.excepthook

        def died(args: threading.ExceptHookArgs) -> None:
            if args.thread is None or args.thread.name != "textual-output":
                before(args)
                return
            _let_go(args.thread)
            loop.call_soon_threadsafe(self._hung_up)

        threading.excepthook = died
        try:
            yield
        finally:
            threading.excepthook = before
            self.app = None

    def _hung_up(self) -> None:
        """Nothing can be drawn any more."""
        if self.code is None:
            self._end(signal.SIGHUP)

    def _came(self, number: int, _frame: object) -> None:
        """Note a signal; end at once when the loop does not turn any more and never hears of it.

        The alarm is one of the signals: it comes back here. The guard of the terminal does the rest.
        """
        now = time.monotonic()
        if self._unheard is None:
            self._unheard = number, now
            signal.setitimer(signal.ITIMER_REAL, DEAF_AFTER)
        elif now - self._unheard[1] >= DEAF_AFTER:
            log.error("the event loop did not hear of %s", name_of(self._unheard[0]), stack_info=True)
            os._exit(128 + self._unheard[0])

    def _end(self, number: int) -> None:
        self._unheard = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        log.info("asked to end by %s", name_of(number))
        code = 128 + number
        if self.code == code == _HUNG_UP:  # the dead writer told it before the signal did
            return
        again, self.code = self.code is not None, code
        if (again or self._starting) and self._task is not None:
            self._task.cancel()
        elif self.app is not None:
            self.app.exit(return_code=self.code)
