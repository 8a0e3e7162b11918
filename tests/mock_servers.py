"""Two published servers that play models and break on demand: installed into a folder, served on loopback.

PyPI's `llmock` grades its clients; npm's `@copilotkit/aimock` is another program, whatever its command is.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_READY_SECONDS = 60.0
_CHUNK_DELAY_MS = 20
"""Between two chunks, as a model has it: a server that writes all at once never sees its client hang up."""


def install_llmock(folder: Path) -> Path:
    """Make a virtual environment with llmock in it, unless it is there; return its program."""
    program = folder / "llmock" / "bin" / "llmock"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "llmock")], check=True, timeout=300)
        pip = [str(program.with_name("python")), "-m", "pip", "install", "--quiet", "llmock"]
        subprocess.run(pip, check=True, timeout=600)
    return program


def install_aimock(folder: Path) -> Path:
    """Install aimock into the folder, unless it is there; return its program."""
    program = folder / "aimock" / "node_modules" / ".bin" / "llmock"
    if not program.exists():
        (folder / "aimock").mkdir(parents=True, exist_ok=True)
        npm = ["npm", "install", "--prefix", str(folder / "aimock"), "--no-audit", "--no-fund", "--silent"]
        subprocess.run([*npm, "@copilotkit/aimock"], check=True, timeout=600)
    return program


@contextmanager
def llmock(folder: Path) -> Iterator[str]:
    """Serve llmock; yields its address."""
    with _served(
        [str(install_llmock(folder)), "serve", "--stream-chunk-delay-ms", str(_CHUNK_DELAY_MS)], folder
    ) as address:
        yield address


@contextmanager
def aimock(folder: Path, fixtures: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Serve aimock with these fixtures; yields its address."""
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": fixtures}))
    with _served([str(install_aimock(folder)), "--strict", "--fixtures", str(file)], folder) as address:
        yield address


def ask(address: str, method: str = "GET", body: object = None) -> Any:
    """Ask a server something with JSON in it."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        address, data=data, method=method, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


@contextmanager
def _served(command: list[str], folder: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "server.log").open("wb") as log:
        child = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_ready(child, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            child.terminate()
            child.wait()


def _wait_until_ready(child: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        assert child.poll() is None, "the server ended: see server.log"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
                return
        except urllib.error.HTTPError:
            return  # it answers
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server was not ready in time")
