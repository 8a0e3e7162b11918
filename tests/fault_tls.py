"""Owns what goes wrong before a word of HTTP is said: handshakes and certificates; refuses to run it.

The certificates are made anew for each process, by authorities of which one is trusted.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Final

import pytest
import trustme

from fault_kinds import CUT, GOOD, WHOLE, Ending, Fault
from fault_server import CLOSE, HANG, RESET, UNREAD, Step, Tls, chunked, http

_ALERT: Final = b"\x15\x03\x03\x00\x02\x02\x28"
"""A fatal alert, "handshake failure", as RFC 8446 has it in 5.1 and 6."""


@cache
def _authority() -> trustme.CA:
    return trustme.CA()


@cache
def certificates() -> dict[str, ssl.SSLContext]:
    """What servers show, by name; a client of `trusted` believes the first."""
    stranger = trustme.CA()
    shown = {
        "trusted": _authority().issue_cert("127.0.0.1"),
        "of a stranger": stranger.issue_cert("127.0.0.1"),
        "of another name": _authority().issue_cert("elsewhere.invalid"),
    }
    contexts = {}
    for name, certificate in shown.items():
        contexts[name] = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate.configure_cert(contexts[name])
    return contexts


@asynccontextmanager
async def trusted(folder: Path) -> AsyncIterator[None]:
    """Have the program trust one authority, as a person does whose company has its own."""
    file = folder / "authority.pem"
    _authority().cert_pem.write_to_path(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        patch.delenv("SSL_CERT_DIR", raising=False)
        yield


def tls_faults() -> list[Fault]:
    """The rows."""
    rows: list[tuple[str, tuple[Step, ...], Ending, str, str]] = [
        ("a certificate of nobody known", (Tls("of a stranger"), GOOD), "failed", "cannot be trusted", ""),
        ("a certificate of another name", (Tls("of another name"), GOOD), "failed", "cannot be trusted", ""),
        ("HTTP in place of TLS", (UNREAD, http(WHOLE), CLOSE), "failed", "does not speak TLS", ""),
        ("an alert in place of a greeting", (UNREAD, _ALERT, CLOSE), "failed", "does not speak TLS", ""),
        ("noise in place of TLS", (UNREAD, bytes(range(256)) * 4, CLOSE), "failed", "does not speak TLS", ""),
        ("closed within the handshake", (UNREAD, CLOSE), "retried", "", ""),
        ("reset within the handshake", (UNREAD, RESET), "retried", "", ""),
        ("silence within the handshake", (UNREAD, HANG), "retried", "", ""),
        ("closed after the handshake", (CLOSE,), "retried", "", ""),
        ("silence after the handshake", (HANG,), "retried", "", ""),
        ("a whole answer over TLS", (chunked(WHOLE),), "completed", "", "Hello."),
        (
            "reset within an answer over TLS",
            (chunked(CUT, end=False), 0.05, RESET),
            "failed",
            "broke before the answer",
            "Half a sen",
        ),
        (
            "an answer over TLS that a close ends",
            (http(CUT, version="1.0", length=None), CLOSE),
            "failed",
            "without a finish reason",
            "Half a sen",
        ),
    ]
    return [Fault("tls", *row) for row in rows]
