"""A failure says what happened, by whom, how long was asked for and what to do; and it says so once."""

from __future__ import annotations

import dataclasses
import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_tui_core.agent import requesting
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.events import RequestRetrying, WorkerFailed
from agent_tui_core.runtime.entries import EndEntry, NoticeEntry, UserEntry
from agent_tui_core.runtime.session import open_session
from agent_tui_core.runtime.transcript import Transcript
from agent_tui_core.system_limits import system_limit, what_broke
from loopback import Answer, LoopbackServer, json_answer, say
from scripted import Scripted
from sessions import Reader, answer_all, planned, settled, tool_answer

KEY = "MY_PROVIDER_KEY"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requesting, "FIRST_DELAY", 0.001)
    monkeypatch.setenv(KEY, "sk-0123456789abcdef")


async def failed(folder: Path, *answers: Answer, key: bool = True) -> tuple[Transcript, list[str]]:
    """What a pane has of a run that these answers made fail, and the reasons of its retries."""
    config, workspace = folder / "config", folder / "workspace"
    config.mkdir()
    workspace.mkdir()
    environ = {"AGENT_TUI_CONFIG_DIR": str(config), "AGENT_TUI_DATA_DIR": str(folder / "data")}
    environ[KEY] = "sk-0123456789abcdef"
    async with LoopbackServer(answers) as server:
        named = f'api_key_env = "{KEY}"\n' if key else ""
        (config / "config.toml").write_text(f'[providers.p]\nbase_url = "{server.base_url}"\n{named}')
        the_plan = plan(load_settings(None, environ=environ), Flags(model="m", workspace=workspace), environ)
        async with open_session(the_plan) as session:
            subscription = session.workers[0].subscribe()
            session.workers[0].prompt("go")
            await settled(session)
            events = subscription.take()
    shown = Transcript()
    shown.apply(events)
    assert shown.state == "failed"
    assert f"127.0.0.1:{server.port}" in shown.detail
    return shown, [e.body.reason for e in events if isinstance(e.body, RequestRetrying)]


def refusing(status: int, words: str, headers: dict[str, str] | None = None) -> Answer:
    return json_answer({"error": {"message": words}}, status=status, headers=headers)


async def test_a_refused_key_is_named_by_its_variable_with_status_host_and_step(tmp_path: Path) -> None:
    shown, _ = await failed(tmp_path, refusing(401, "Incorrect API key"))
    assert "Incorrect API key" in shown.detail
    assert "status 401" in shown.detail
    assert f"{KEY} was refused: set it to a key of this server" in shown.detail
    assert "sk-0123456789abcdef" not in shown.detail


async def test_a_server_that_wants_a_key_where_none_is_configured_says_where_to_name_it(
    tmp_path: Path,
) -> None:
    shown, _ = await failed(tmp_path, refusing(401, "no key"), key=False)
    assert "name its environment variable in api_key_env" in shown.detail


async def test_a_long_wait_that_a_server_asks_for_is_told_and_not_waited_for(tmp_path: Path) -> None:
    shown, _ = await failed(tmp_path, refusing(429, "slow down", {"Retry-After": "3600"}))
    assert shown.detail.startswith("rate limit: slow down")
    assert "It asked to wait 1 h; more than 2 min is not waited for" in shown.detail


async def test_what_was_tried_again_in_vain_says_how_often_and_each_retry_why(tmp_path: Path) -> None:
    shown, reasons = await failed(tmp_path, *[refusing(503, "loading")] * 4)
    assert len(reasons) == 3
    assert all(reason.startswith("not able to answer now: loading (127.0.0.1") for reason in reasons)
    assert "status 503" in shown.detail
    assert "Tried 4 times. Send the prompt again in a while." in shown.detail


async def test_an_error_status_without_words_has_no_words_twice(tmp_path: Path) -> None:
    shown, _ = await failed(tmp_path, Answer(b"", status=400))
    assert shown.detail.count("400") == 1


async def test_a_failure_stands_once_in_the_pane_and_in_no_banner(tmp_path: Path) -> None:
    shown, _ = await failed(tmp_path, refusing(401, "Incorrect API key"))
    told = [entry for entry in shown.entries if "Incorrect" in str(entry)]
    assert [type(entry) for entry in told] == [EndEntry]
    assert [e.returned for e in shown.entries if isinstance(e, UserEntry)] == [""]


# --- limits of the system -----------------------------------------------------------------------------------

LIMITS = [
    pytest.param(RuntimeError("can't start new thread"), "starts no more threads", id="threads"),
    pytest.param(BlockingIOError(errno.EAGAIN, "fork"), "starts no more threads", id="fork"),
    pytest.param(OSError(errno.EMFILE, "Too many open files"), "too many open files", id="files"),
    pytest.param(OSError(errno.ENFILE, "x"), "whole system has too many", id="all files"),
    pytest.param(OSError(errno.ENOMEM, "x"), "no memory left", id="memory"),
    pytest.param(MemoryError(), "no memory left", id="MemoryError"),
    pytest.param(OSError(errno.ENOSPC, "x"), "disk is full", id="disk"),
    pytest.param(ExceptionGroup("g", [OSError(errno.EMFILE, "x")]), "too many open files", id="in a group"),
]


@pytest.mark.parametrize(("error", "words"), LIMITS)
async def test_a_limit_of_the_system_is_no_bug_wherever_a_run_meets_it(
    tmp_path: Path, error: Exception, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Exhausted(Scripted):
        def stream(self, request: object) -> object:  # type: ignore[override]
            raise error

    from agent_tui_core.providers.later import LaterProvider

    monkeypatch.setattr(LaterProvider, "stream", Exhausted().stream)
    async with LoopbackServer() as server, open_session(planned(server.base_url, tmp_path)) as session:
        subscription = session.workers[0].subscribe()
        session.workers[0].prompt("go")
        await settled(session)
        events = subscription.take()
    shown = Transcript()
    shown.apply(events)
    assert shown.state == "failed"
    assert words in shown.detail
    assert "bug" not in shown.detail
    assert sum(isinstance(entry, EndEntry) for entry in shown.entries) == 1
    assert not any(isinstance(entry, NoticeEntry) for entry in shown.entries)
    assert not any(isinstance(event.body, WorkerFailed) for event in events)


def test_any_other_exception_keeps_its_type_and_words() -> None:
    assert system_limit(OSError(errno.ENOENT, "gone")) is None
    assert what_broke(KeyError("x")) == "KeyError: 'x'"


def test_a_circle_of_causes_has_an_end() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert system_limit(first) is None


@contextmanager
def no_more_files() -> Iterator[None]:
    """The process may open nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    held = []
    try:
        while True:
            try:
                held.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_connection_that_finds_no_descriptor_left_says_so(tmp_path: Path) -> None:
    async with open_session(planned("http://127.0.0.1:9/v1", tmp_path)) as session:
        worker = session.workers[0]
        worker.prompt("go")
        await settled(session)
        with no_more_files():
            worker.prompt("go again")
            await settled(session)
        shown = Reader(worker).read()
        assert "too many open files" in shown.detail
        assert "is the server running" not in shown.detail


async def test_a_command_that_finds_no_descriptor_left_says_so_to_the_model(tmp_path: Path) -> None:
    answers = [tool_answer("Bash", {"command": "true"}), say("I see")]
    async with LoopbackServer(answers) as server:
        base = planned(server.base_url, tmp_path)
        agents = tuple(dataclasses.replace(agent, mode="auto") for agent in base.agents)
        async with open_session(dataclasses.replace(base, agents=agents)) as session:
            session.workers[0].prompt("go")
            with no_more_files_at_tools():
                await answer_all(session)
        assert "too many open files" in server.requests[1].json["messages"][-1]["content"]


@contextmanager
def no_more_files_at_tools() -> Iterator[None]:
    """Pipes are what a command needs first: none is left."""
    patch = pytest.MonkeyPatch()

    def pipe() -> tuple[int, int]:
        raise OSError(errno.EMFILE, "Too many open files")

    patch.setattr(os, "pipe", pipe)
    patch.setattr(os, "pipe2", lambda _flags: pipe())
    try:
        yield
    finally:
        patch.undo()
