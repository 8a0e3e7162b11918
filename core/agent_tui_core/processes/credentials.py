"""Owns which places below the home folder hold what an agent on its own must not read: `credentials.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from agent_tui_core.records import dataclass

_EXAMPLE: Final = re.compile(r"\.env\.(?:example|sample|template|dist|defaults)", re.IGNORECASE)
_FILE: Final = Path(__file__).with_name("credentials.toml")
_VARIABLES: Final = (
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "KUBECONFIG",
    "PGPASSFILE",
    "NETRC",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUDSDK_CONFIG",
    "AZURE_CONFIG_DIR",
    "DOCKER_CONFIG",
    "NPM_CONFIG_USERCONFIG",
    "HISTFILE",
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
    "GH_CONFIG_DIR",
    "PASSWORD_STORE_DIR",
    "SOPS_AGE_KEY_FILE",
    "VAULT_TOKEN_PATH",
    "HF_TOKEN_PATH",
    "RCLONE_CONFIG",
    "ANSIBLE_VAULT_PASSWORD_FILE",
)
"""Variables that say that such a place lies elsewhere."""


@dataclass(frozen=True, slots=True)
class CredentialPlaces:
    """One kind of them."""

    what: str
    paths: tuple[str, ...]
    source: str
    """The page that says so."""


@cache
def credential_places() -> tuple[CredentialPlaces, ...]:
    """All kinds, as they stand in the file."""
    with _FILE.open("rb") as file:
        table = tomllib.load(file)
    return tuple(
        CredentialPlaces(each["what"], tuple(each["paths"]), each["source"]) for each in table["places"]
    )


def credentials_there(home: Path) -> Iterator[tuple[CredentialPlaces, Path]]:
    """Those that exist, in the order of the file."""
    for kind in credential_places():
        for path in kind.paths:
            if "*" in path:
                yield from ((kind, found) for found in sorted(home.glob(path)))
            elif os.path.lexists(home / path):
                yield kind, home / path


def credentials_named(variables: Mapping[str, str]) -> Iterator[Path]:
    """The places that variables of the environment name."""
    for name in _VARIABLES:
        for word in variables.get(name, "").split(os.pathsep):
            if word.startswith("/") and os.path.lexists(word):
                yield Path(word)


def secrets_in(folder: Path) -> Iterator[Path]:
    """The `.env` files at the top of a project; examples of such files hold none."""
    with suppress(OSError):
        yield from (each for each in folder.glob(".env*") if not _EXAMPLE.fullmatch(each.name))
