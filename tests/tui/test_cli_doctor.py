"""`agent-tui doctor`: what it finds, what it never shows, and when it is a failure."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agent_tui.cli import run
from development import DEVELOPMENT

ROOT = Path(__file__).resolve().parents[2]


class ModelServer(BaseHTTPRequestHandler):
    """Lists two models to who knows the key."""

    def do_GET(self) -> None:
        known = "sk-topsecret" in (self.headers.get("x-api-key"), self.headers.get("Authorization", "")[7:])
        body = b'{"data": [{"id": "small"}, {"id": "large"}]}' if known else b'{"error": {"message": "no"}}'
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), ModelServer) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/v1"
        http.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_BASE_URL",
        "AGENT_TUI_MODEL",
        "HTTP_PROXY",
        "http_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("AGENT_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENT_TUI_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "config").mkdir()
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = run([*args, "doctor"])
    shown = capsys.readouterr()
    assert not shown.err
    return code, shown.out


def line(shown: str, name: str) -> str:
    return next(line for line in shown.splitlines() if f" {name} " in line)


def test_a_proxy_with_a_password_is_said_to_reach_no_child(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FTP_PROXY", "http://me:hunter2@proxy.invalid:3128")
    monkeypatch.setenv("GIT_SSL_CAINFO", "/is/not/there.pem")
    code, shown = report(capsys, "--demo")
    assert code == 0
    assert "hunter2" not in shown
    said = [each for each in shown.splitlines() if " FTP_PROXY " in each]
    assert "env_from" in said[-1]
    assert "note" in said[-1]
    assert "/is/not/there.pem" in shown


def test_nothing_configured_is_no_fault(capsys: pytest.CaptureFixture[str], places: Path) -> None:
    code, shown = report(capsys, "--demo")
    assert code == 0
    assert "not there, and not needed" in line(shown, "file")
    assert "will be made" in line(shown, "folder")
    assert line(shown, "demo").split()[0] == "ok"
    assert not (places / "data").exists()


def test_a_server_is_asked_for_its_models_and_its_key_is_not_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-topsecret")
    code, shown = report(capsys, "--base-url", server, "-n", "2")
    assert code == 0
    assert "topsecret" not in shown
    assert line(shown, "OPENAI_API_KEY").split() == ["ok", "OPENAI_API_KEY", "set"]
    assert "small, large" in shown
    assert f"small at {server}" in line(shown, "agent-2")


@pytest.mark.parametrize(
    ("protocol", "shown_as"), [("anthropic", "(Anthropic Messages)"), ("responses", "(OpenAI Responses)")]
)
def test_a_provider_is_asked_in_its_protocol_which_is_named(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    places: Path,
    server: str,
    protocol: str,
    shown_as: str,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-topsecret")
    (places / "config" / "config.toml").write_text(
        f'[providers.mine]\nbase_url = "{server}"\napi_key_env = "ANTHROPIC_API_KEY"\n'
        f'protocol = "{protocol}"\n'
    )
    code, shown = report(capsys)
    assert code == 0
    assert "topsecret" not in shown
    assert line(shown, "ANTHROPIC_API_KEY").split() == ["ok", "ANTHROPIC_API_KEY", "set"]
    assert f"{server} {shown_as}: small, large" in line(shown, "mine")


def test_a_model_that_the_server_does_not_list_is_noted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-topsecret")
    code, shown = report(capsys, "--base-url", server, "-m", "huge")
    assert code == 0
    assert line(shown, "agent-1").split()[0] == "note"


def test_a_refused_key_is_a_problem_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    code, shown = report(capsys, "--base-url", server)
    assert code == 1
    assert "problem" in shown
    assert "sk-other" not in shown


def test_a_server_that_is_not_there_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = report(capsys, "--base-url", "http://127.0.0.1:9/v1", "-m", "x")
    assert code == 1
    assert line(shown, "127.0.0.1:9").split()[0] == "problem"


def test_a_broken_settings_file_is_named_and_the_rest_is_still_told(
    capsys: pytest.CaptureFixture[str], places: Path
) -> None:
    (places / "config" / "config.toml").write_text(
        '[providers.p]\nbase_url = "http://h"\napi_key = "sk-top"\n'
    )
    code, shown = report(capsys)
    assert code == 1
    assert "providers.p.api_key" in shown
    assert "sk-top" not in shown
    assert "with exit code 2" in line(shown, "stop")
    assert line(shown, "python")


def test_a_history_that_opens_is_measured_and_one_that_does_not_is_a_problem(
    capsys: pytest.CaptureFixture[str], places: Path
) -> None:
    file = places / "data" / "history.db"
    file.parent.mkdir(mode=0o700)
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    file.chmod(0o600)
    assert report(capsys, "--demo")[0] == 0
    file.write_bytes(b"this is no database, however long it is" * 100)
    code, shown = report(capsys, "--demo")
    assert code == 1
    assert line(shown, "history").split()[0] == "problem"


def test_a_history_that_others_can_read_is_noted(capsys: pytest.CaptureFixture[str], places: Path) -> None:
    file = places / "data" / "history.db"
    file.parent.mkdir()
    file.touch(0o644)
    file.chmod(0o644)
    assert line(report(capsys, "--demo")[1], "history").split()[0] == "note"


def test_it_changes_nothing(capsys: pytest.CaptureFixture[str], places: Path) -> None:
    (places / "data").mkdir()
    report(capsys, "--demo")
    assert not list((places / "data").iterdir())


def test_without_a_terminal_there_is_no_colour(places: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent_tui", "doctor", "--demo"],
        env={
            "PYTHONPATH": f"{ROOT / 'core'}:{ROOT / 'tui'}",
            "PATH": "/usr/bin:/bin",
            "AGENT_TUI_CONFIG_DIR": str(places / "config"),
            "AGENT_TUI_DATA_DIR": str(places / "data"),
            **DEVELOPMENT,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout
    assert b"none here" in done.stdout


def test_what_commands_of_agents_could_read_is_told_by_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    run(["doctor"])
    assert "none at the usual places" in capsys.readouterr().out
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".pgpass").write_text("topsecret")
    run(["doctor"])
    told = capsys.readouterr().out
    assert "AWS                    ~/.aws: commands that you or a rule allow can read it" in told
    assert "~/.pgpass" in told
    assert "topsecret" not in told
