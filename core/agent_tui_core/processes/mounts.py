"""Owns what a sandboxed command sees of the file system: what is writable, read-only, private, not there.

Refuses to start anything. Everything can be read unless it is hidden; nothing can be written unless named.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agent_tui_core.processes.credentials import credentials_named, credentials_there, secrets_in
from agent_tui_core.processes.environment import certificate_places
from agent_tui_core.processes.kept_names import RUN_BY_THEMSELVES
from agent_tui_core.records import dataclass
from agent_tui_core.regular_file import open_regular

_NAMES_KEPT = (
    *(".agent-tui", ".claude", ".claude.json", ".cursor", ".mcp.json", ".vscode", ".idea", ".devcontainer"),
    *(".envrc", ".gitmodules", ".gitconfig", ".git-credentials", ".husky", ".npmrc", ".pypirc", ".netrc"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".vimrc", ".exrc", ".emacs", ".emacs.d"),
    *(".ssh", ".gnupg", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".local/bin"),
)
"""Names in a writable folder that a command may not change: programs of the person believe what is there."""
_SOCKETS = (
    ".docker/run",
    ".docker/desktop",
    ".colima",
    ".orbstack/run",
    ".ssh/agent",
    ".Xauthority",
    ".ICEauthority",
)
"""Below the home folder: ways to have a program outside do something."""
_OF_RUN = ("systemd/resolve/stub-resolv.conf", "systemd/resolve/resolv.conf", "resolvconf/resolv.conf")
_OF_RUN_MORE = ("NetworkManager/resolv.conf", "current-system", "booted-system", "opengl-driver", "nscd")
_OF_THE_SYSTEM = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "timer_list", "driver")
_RUN = Path("/run")
_MOST_WORKTREES = 40
_MOST_STARRED = 20


@dataclass(frozen=True, slots=True)
class View:
    """What one command sees."""

    workspace: Path
    scratch: Path
    """The private folder that stands in for /tmp and /var/tmp."""
    writable: Sequence[Path] = ()
    readable: Sequence[Path] = ()
    """Folders below /tmp that are there in spite of that."""
    hidden: Sequence[Path] = ()
    kept: Sequence[Path] = ()
    """Files that cannot be written although they lie where it may write."""
    credentials: bool = True
    """Whether the keys in the home folder can be read."""


def mounts(view: View, environ: Mapping[str, str], descriptors: list[int] | None = None) -> list[str]:
    """Return the options for bubblewrap, in the order in which they have to be applied.

    What lies in a writable folder can be exchanged for a link while the sandbox is made. So it is named by
    descriptors, which are added to `descriptors` for the caller to hand on and to close; None: by its path.
    """
    plan = _Plan(descriptors)
    plan.add(Path("/"), "--ro-bind", "/", "/")
    plan.add(Path("/dev"), "--dev", "/dev")
    plan.add(Path("/proc"), "--proc", "/proc")
    # The superuser's files there are writable for whoever has its number, with no privilege at all.
    for place in (Path("/proc", name) for name in _OF_THE_SYSTEM):
        if place.exists():
            plan.add(place, "--ro-bind", str(place), str(place))
    _private_tmp(plan, view)
    _without_services(plan, environ)
    for folder in view.readable:
        plan.root(folder, writable=False)
    for folder in (*view.writable, view.workspace):
        plan.root(folder, writable=True)
        _keep_names(plan, folder)
    _git(plan, view.workspace)
    for file in view.kept:
        plan.keep(file)
    _certificates(plan, environ)
    home = Path(environ.get("HOME") or "/nonexistent")
    plan.hide((home / name for name in _SOCKETS), though_missing=False)
    if not view.credentials:
        plan.hide((place for _, place in credentials_there(home)), though_missing=False)
        plan.hide(credentials_named(environ), though_missing=False)
        roots = (*view.writable, view.workspace)
        plan.hide((place for root in roots for place in secrets_in(root)), though_missing=False)
    plan.hide(view.hidden, though_missing=True)
    return plan.options()


class _Plan:
    """Mounts by place: what lies deeper comes later, and so does what was said later of the same place."""

    def __init__(self, descriptors: list[int] | None) -> None:
        self._descriptors = descriptors
        self._places: list[tuple[Path, tuple[str, ...]]] = []
        self._kept: list[tuple[Path, tuple[str, ...]]] = []
        self._roots: set[Path] = set()
        self._writable: set[Path] = set()
        self._hidden: set[Path] = set()
        self._keeping: set[Path] = set()
        self._closed: list[str] = []

    def add(self, place: Path, *options: str) -> None:
        """Mount something."""
        self._places.append((place, options))

    def root(self, place: Path, *, writable: bool) -> None:
        """Show a folder for its own sake, wherever it lies."""
        real = Path(os.path.realpath(place))
        if real.is_dir():
            self._roots.add(real)
            if writable:
                self._writable.add(real)
            self.add(real, "--bind" if writable else "--ro-bind", str(real), str(real))

    def shows(self, place: Path) -> bool:
        """Whether it lies in a folder that is shown for its own sake."""
        return any(place.is_relative_to(folder) for folder in self._roots)

    def keep(self, place: Path, *, writable: bool = False, folder: bool = False) -> None:
        """Make something in a writable folder a mount of its own: nobody changes it or moves it away.

        Where `folder` says so, what is not there becomes an empty folder. The folders above it become mounts,
        too: with one of them it would be moved away.
        """
        place = Path(os.path.realpath(place.parent), place.name)
        if place in self._keeping or not self._could_be_made(place):
            return
        self._keeping.add(place)
        if place.parent not in self._writable and (folder or place.exists()):
            self.keep(place.parent, writable=True)
        if place.exists() and not place.is_symlink():
            option = "--bind" if writable else "--ro-bind"
            if self._descriptors is None:
                self._kept.append((place, (option, str(place), str(place))))
            elif (descriptor := _opened(place)) is not None:
                self._descriptors.append(descriptor)
                self._kept.append((place, (f"{option}-fd", str(descriptor), str(place))))
        elif folder and not place.is_symlink():
            self._kept.append((place, ("--tmpfs", str(place))))
            self._closed += ["--remount-ro", str(place)]

    def hide(self, places: Iterable[Path], *, though_missing: bool) -> None:
        """Put something empty in the place."""
        for place in places:
            real = Path(os.path.realpath(place))
            there = os.path.lexists(real)
            if not there and not (though_missing and self._could_be_made(real)):
                continue
            self._hidden.add(real)
            if real.is_dir() or not there:
                self.add(real, "--tmpfs", str(real))
                self._closed += ["--remount-ro", str(real)]
            else:
                self.add(real, "--ro-bind", "/dev/null", str(real))

    def options(self) -> list[str]:
        """Return all of it in order."""
        kept = [entry for entry in self._kept if not self._is_hidden(entry[0])]
        ordered = sorted([*self._places, *kept], key=lambda entry: len(entry[0].parts))
        return [option for _place, options in ordered for option in options] + self._closed

    def _could_be_made(self, place: Path) -> bool:
        return any(place.is_relative_to(folder) for folder in self._writable)

    def _is_hidden(self, place: Path) -> bool:
        for above in (place, *place.parents):
            if above in self._roots:
                return False
            if above in self._hidden:
                return True
        return False


def _opened(place: Path) -> int | None:
    """Open what is there without following a link in any part of its path."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open("/", flags)
    try:
        for part in place.parts[1:]:
            deeper = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        if not stat.S_ISLNK(os.fstat(descriptor).st_mode):
            return descriptor
    except OSError:
        pass  # it went away meanwhile
    os.close(descriptor)
    return None


def _private_tmp(plan: _Plan, view: View) -> None:
    for place in (Path("/tmp"), Path("/var/tmp")):  # noqa: S108 - to replace them
        if place.is_dir() and not place.is_symlink():
            own = view.scratch / place.name if place.parent == Path("/") else view.scratch / "var-tmp"
            own.mkdir(mode=0o700, exist_ok=True)
            plan.add(place, "--bind", str(own), str(place))


def _without_services(plan: _Plan, environ: Mapping[str, str]) -> None:
    """Hide the sockets of what runs for the person; what names a server's address stays."""
    if _RUN.is_dir():
        plan.add(_RUN, "--tmpfs", "/run")
        for name in (*_OF_RUN, *_OF_RUN_MORE):
            if (place := _RUN / name).exists():
                plan.add(place, "--ro-bind", os.path.realpath(place), str(place))
    old = Path("/var/run")
    if old.is_dir() and old.resolve() != _RUN:
        plan.add(old, "--tmpfs", str(old))
    sockets = [Path(runtime)] if (runtime := environ.get("XDG_RUNTIME_DIR", "")).startswith("/") else []
    for value in environ.values():
        for word in value.split(",")[:2]:
            named = word.removeprefix("unix:path=").removeprefix("unix://").removeprefix("unix:")
            if named.startswith("/") and len(named) < 200 and _is_socket(named):
                sockets.append(Path(named))
    elsewhere = (place for place in sockets if not place.is_relative_to(_RUN) and not _in_tmp(place))
    plan.hide(elsewhere, though_missing=False)


def _certificates(plan: _Plan, environ: Mapping[str, str]) -> None:
    """Show those that lie in a place that is private or hidden inside: a company's often lie in /tmp."""
    for named in certificate_places(environ):
        place = Path(named)
        private = _in_tmp(place) or place.is_relative_to(_RUN)
        if private and place.exists() and not plan.shows(place):
            plan.add(place, "--ro-bind-try", os.path.realpath(place), str(place))


def _is_socket(place: str) -> bool:
    with suppress(OSError, ValueError):
        return stat.S_ISSOCK(Path(place).stat().st_mode)
    return False


def _in_tmp(place: Path) -> bool:
    return place.is_relative_to("/tmp") or place.is_relative_to("/var/tmp")  # noqa: S108


def _keep_names(plan: _Plan, folder: Path) -> None:
    real = Path(os.path.realpath(folder))
    environments = [place.name for place in real.glob(".env*")] if real.is_dir() else []
    for name in dict.fromkeys((*_NAMES_KEPT, *RUN_BY_THEMSELVES, *environments)):
        if "*" not in name:
            plan.keep(real / name)
            continue
        for place in sorted(real.glob(name))[:_MOST_STARRED]:
            plan.keep(place)


def _git(plan: _Plan, workspace: Path) -> None:
    """Let git commit, and nothing make it run programs: neither hooks nor configuration can be written."""
    dot = Path(os.path.realpath(workspace)) / ".git"
    if dot.is_symlink():
        return
    if dot.is_dir():
        _git_folder(plan, dot)
    elif dot.is_file() and (common := _worktree_of(dot)) is not None:
        plan.keep(dot)
        plan.root(common, writable=True)
        _git_folder(plan, common)


def _git_folder(plan: _Plan, folder: Path) -> None:
    plan.keep(folder, writable=True)
    plan.keep(folder / "config")
    plan.keep(folder / "config.worktree")
    plan.keep(folder / "hooks", folder=True)
    plan.keep(folder / "modules")
    plan.keep(folder / "info")
    for tree in sorted((folder / "worktrees").glob("*"))[:_MOST_WORKTREES]:
        for name in ("commondir", "gitdir", "config.worktree"):
            plan.keep(tree / name)


def _worktree_of(dot: Path) -> Path | None:
    """The repository whose worktree this is: the file names a folder, and that has to name the file."""
    with suppress(OSError, ValueError):
        named = Path(_first_words(dot).removeprefix("gitdir:").strip())
        back = Path(_first_words(named / "gitdir").strip())
        common = Path(os.path.realpath(named)).parent.parent
        if named.parent.name == "worktrees" and os.path.realpath(back) == os.path.realpath(dot):
            return common if (common / "HEAD").is_file() and (common / "objects").is_dir() else None
    return None


def _first_words(file: Path) -> str:
    with open_regular(file) as stream:
        return stream.read(4096).decode("utf-8")
