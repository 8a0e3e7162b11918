"""Owns which variables of ours a child inherits; refuses every other one, and any key of a provider."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

CERTIFICATES: Final = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
)
"""Files and folders that say whom to trust: behind a company's proxy nothing can be fetched without them."""
PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY")
"""In capitals or in small letters, as programs differ."""
_INHERITED: Final = ("PATH", "HOME", "LANG", "TERM", "TMPDIR", "TZ", "USER", "SHELL")
_FIXED: Final = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    # Against what a repository would run when git only looks: a monitor of files, a hook after the index was
    # refreshed, and the settings of a folder that was made to look like a bare repository.
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "safe.bareRepository",
    "GIT_CONFIG_VALUE_1": "explicit",
}


def child_environment(environ: Mapping[str, str], names: Collection[str] = ()) -> dict[str, str]:
    """Return what a child inherits: a short list, what `names` adds, and no key of a provider, ever."""
    allowed = {
        name: value
        for name, value in environ.items()
        if (name in _INHERITED or name.startswith("LC_") or name in names)
        and not name.upper().endswith("API_KEY")
    }
    if "PATH" in allowed:
        allowed["PATH"] = _without_relative(allowed["PATH"])
    given = {name: _from_here(environ[name]) for name in CERTIFICATES if environ.get(name)}
    proxies = {name: environ[name] for name in _proxies(environ) if not holds_password(name, environ[name])}
    return given | proxies | allowed | _FIXED


def passwords_left_out(environ: Mapping[str, str]) -> list[str]:
    """The proxy variables that no child inherits unless it is given them by name."""
    return [name for name in _proxies(environ) if holds_password(name, environ[name])]


def holds_password(name: str, value: str) -> bool:
    """Whether a proxy variable has more in it than an address: a child could send that anywhere."""
    return name.upper() != "NO_PROXY" and "@" in value


def certificate_places(environ: Mapping[str, str]) -> Iterator[str]:
    """The files and folders that these variables name, as a child is told of them."""
    for name in CERTIFICATES:
        yield from filter(None, _from_here(environ.get(name, "")).split(os.pathsep))


def _proxies(environ: Mapping[str, str]) -> list[str]:
    return [name for upper in PROXIES for name in (upper, upper.lower()) if environ.get(name)]


def _without_relative(path: str) -> str:
    """Leave out what counts from wherever a child happens to be: foreign files would be programs."""
    return os.pathsep.join(place for place in path.split(os.pathsep) if place.startswith("/"))


def _from_here(places: str) -> str:
    """Make relative places whole: a child starts in a folder whose files are not ours to trust."""
    return os.pathsep.join(str(Path(place).absolute()) if place else "" for place in places.split(os.pathsep))
