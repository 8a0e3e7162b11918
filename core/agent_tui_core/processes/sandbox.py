"""Owns whether there is a sandbox, why not, and the program that puts a command into it: bubblewrap.

Refuses to run a command itself, and to say that it is on before it was tried.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from agent_tui_core.errors import ToolError
from agent_tui_core.processes.environment import child_environment
from agent_tui_core.processes.mounts import View, mounts
from agent_tui_core.processes.output import private_folder
from agent_tui_core.processes.warden import guarded
from agent_tui_core.records import dataclass

SandboxMode: TypeAlias = Literal["auto", "off", "required"]

_ISOLATED: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--cap-drop", "ALL"),
)
_PROGRAMS = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")
_PROBE_SECONDS = 5.0
_TOO_OLD = "this bwrap is older than 0.8: a command that is quick enough could slip out of it"
_VARIABLES = {"TMPDIR": "/tmp", "AGENT_TUI_SANDBOX": "1"}  # noqa: S108
_CACHES = {"XDG_CACHE_HOME": "/tmp/.cache", "npm_config_cache": "/tmp/.npm"}  # noqa: S108
"""What programs want to write to in the home folder, where they can only read."""
_REFUSED = re.compile(
    r"Read-only file system|Device or resource busy|Network is unreachable|[Cc]ould not resolve|getaddrinfo"
    r"|Temporary failure in name resolution|EROFS|ENOTFOUND|EAI_AGAIN|ENETUNREACH|Name or service not known"
)


@dataclass(frozen=True, slots=True)
class SandboxRules:
    """What holds for all agents of a session."""

    mode: SandboxMode = "auto"
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Our own folders: keys, rules, trust, history."""


class Sandbox:
    """The sandbox of a session. Finding out whether it works takes some 10 ms, once, and may block."""

    def __init__(self, rules: SandboxRules, kept: Callable[[], Collection[Path]] = tuple) -> None:
        """`kept` are files that no command may change, though they lie where it may write."""
        self.rules = rules
        self.kept = kept
        self._lock = threading.Lock()
        self._program: str | None = None
        self._trouble: str | None = None
        self.takes_descriptors = False
        """Whether bubblewrap is new enough to be given folders by descriptor."""

    def works(self) -> bool:
        """Try it, once. Call this in a thread."""
        with self._lock:
            if self._trouble is None:
                if self.rules.mode == "off":
                    self._trouble = "it is off"
                else:
                    self._program, self.takes_descriptors, self._trouble = _found()
            return not self._trouble

    @property
    def known(self) -> bool | None:
        """What `works` found out; None when nobody asked yet. Never blocks."""
        return None if self._trouble is None else not self._trouble

    @property
    def trouble(self) -> str:
        """Why there is none, in words; empty when there is one, or nobody knows yet."""
        return self._trouble or ""

    @property
    def words(self) -> str:
        """For the row that shows the state of things."""
        match self.known, self.rules.mode:
            case True, _:
                return "sandbox on"
            case None, "auto" | "required":
                return "sandbox not tried yet"
            case _, "off":
                return "sandbox off: by your settings"
            case _:
                return f"sandbox off: {self.trouble}"

    def of(
        self, workspace: Path, *, network: bool | None = None, confined: Callable[[], bool] = lambda: False
    ) -> AgentSandbox:
        """Return the sandbox for one agent. `network` is what its settings say, if they say anything.

        `confined` says whether it acts without questions now: then it has no network unless `network` is
        true, and no keys of the person.
        """
        return AgentSandbox(self, workspace, network, confined)

    @property
    def program(self) -> str:
        """Of bubblewrap; empty when there is none."""
        return self._program or ""


class AgentSandbox:
    """How the commands of one agent are started."""

    def __init__(
        self, sandbox: Sandbox, workspace: Path, network: bool | None, confined: Callable[[], bool]
    ) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._said = network
        self._confined = confined
        self._scratch: Path | None = None
        self._making = threading.Lock()

    @property
    def network(self) -> bool:
        """Whether commands reach it now."""
        return not self._confined() if self._said is None else self._said

    @property
    def words(self) -> str:
        """As `Sandbox.words`, and what is special here."""
        words = self._sandbox.words
        return f"{words}, no network" if self._sandbox.known and not self.network else words

    def trouble(self) -> str:
        """Why nobody should rely on it; empty when one can. Never blocks: try the sandbox before."""
        if not self._sandbox.known:
            return self._sandbox.trouble or "it was not tried yet"
        return "" if self._sandbox.takes_descriptors else _TOO_OLD

    @property
    def variables(self) -> dict[str, str]:
        """What is set for a command inside."""
        home, writable = os.environ.get("HOME", "/"), self._sandbox.rules.writable
        own = any(Path(home, ".cache").is_relative_to(folder) for folder in (*writable, self._workspace))
        return _VARIABLES if own else _VARIABLES | _CACHES

    def wrapped(self, argv: Sequence[str], descriptors: list[int] | None = None) -> list[str] | None:
        """Return what runs `argv` inside; None: there is no sandbox, and it may run without. May block.

        What it has to inherit is added to `descriptors`; the caller closes those, whatever happens. Raises
        `ToolError` when it may not run without.
        """
        if not self._sandbox.works():
            self._refuse_without()
            return None
        confined, network = self._confined(), self.network
        view = View(
            workspace=self._workspace,
            scratch=self._own_scratch(),
            writable=self._sandbox.rules.writable,
            readable=(private_folder("outputs"), private_folder("background")),
            hidden=self._sandbox.rules.hidden,
            kept=tuple(self._sandbox.kept()),
            credentials=network and not confined,
        )
        lonely = () if network else ("--unshare-net",)
        cwd = ("--chdir", str(self._workspace))
        return [
            self._sandbox.program,
            *_ISOLATED,
            *lonely,
            *mounts(view, os.environ, descriptors if self._sandbox.takes_descriptors else None),
            *cwd,
            "--",
            *guarded(argv),
        ]

    def hint(self, output: str) -> str:
        """Say what the sandbox may have to do with a failure; empty when it hardly has."""
        if not _REFUSED.search(output):
            return ""
        network = "" if self.network else ", and there is no network"
        return (
            "[It ran in a sandbox: only the workspace and /tmp, which is its own, can be written (not git's "
            f"config and hooks){network}.]"
        )

    @property
    def has_scratch(self) -> bool:
        """Whether a command of its had a /tmp."""
        return self._scratch is not None

    def forget(self) -> None:
        """Delete what the agent left in its /tmp. May block."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def _own_scratch(self) -> Path:
        with self._making:
            if self._scratch is None:
                self._scratch = Path(tempfile.mkdtemp(dir=private_folder("tmp")))
            return self._scratch

    def _refuse_without(self) -> None:
        trouble = self._sandbox.trouble
        remedy = "install bubblewrap (the program bwrap) and see that it works"
        if self._sandbox.rules.mode == "required":
            raise ToolError(
                f'the settings say [sandbox] mode = "required", but there is no sandbox: {trouble}. '
                f'Nothing was run. The person can {remedy}, or set mode = "auto"'
            )
        if self._said is False:
            raise ToolError(
                f"the settings say network = false, which needs a sandbox, but there is none: {trouble}. "
                f"Nothing was run. The person can {remedy}, or allow the network"
            )


_Found: TypeAlias = tuple[str | None, bool, str]
"""The program, whether it takes descriptors, and why it does not work: the first or the last is empty."""
_WORKED: Final[dict[tuple[str, int, int], _Found]] = {}
"""What was tried and works, by path, inode and time of change: it is tried once for a process."""


def _found() -> _Found:
    if not Path("/proc/self/ns").is_dir():
        return None, False, "this system is not Linux"
    program = next((path for path in (*_PROGRAMS, _on_path()) if path and os.access(path, os.X_OK)), None)
    if program is None:
        return None, False, "bwrap is not installed"
    try:
        file = Path(program).stat()
        which = (program, file.st_ino, file.st_mtime_ns)
        if which not in _WORKED:
            if trouble := _tried(program):
                return None, False, trouble
            _WORKED[which] = program, b"--ro-bind-fd" in _said_by([program, "--help"]).stdout, ""
        return _WORKED[which]
    except (OSError, subprocess.SubprocessError) as error:
        return None, False, f"bwrap cannot be run: {error}"


def _tried(program: str) -> str:
    """Why it does not work; empty when it does."""
    line = [program, *_ISOLATED, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"]
    line += ["--remount-ro", "/run", "--", "/bin/sh", "-c", "kill -s 0 -- -1 2>/dev/null; exit 0"]
    done = _said_by(line)
    if done.returncode == 0:
        return ""
    said = done.stderr.decode(errors="replace").strip().removeprefix("bwrap: ").split("\n")[0]
    return f"bwrap does not work here: {said or f'exit code {done.returncode}'}"


def _said_by(argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603
        list(argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PROBE_SECONDS,
        env=child_environment(os.environ),
        check=False,
    )


def _on_path() -> str | None:
    folders = [folder for folder in os.environ.get("PATH", "").split(":") if folder.startswith("/")]
    return shutil.which("bwrap", path=":".join(folders)) if folders else None
