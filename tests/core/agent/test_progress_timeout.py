"""Two clocks: bytes keep a connection, but only text, a call or usage keep a request."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from pathlib import Path

import pytest

from agent_tui_core.agent.options import AgentOptions
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.errors import ConfigError
from agent_tui_core.runtime.assembly import UNATTENDED_PROGRESS_TIMEOUT
from agent_tui_core.runtime.session import open_session
from loopback import DONE, Answer, LoopbackServer, chunk, finish, text, usage
from loopback import Step as LoopbackStep
from sessions import Reader, planned, settled

SOON = 1.5


def dripping(first: bytes, drip: bytes) -> Answer:
    """Something, and then bytes for ever that say nothing."""
    drips: itertools.cycle[LoopbackStep] = itertools.cycle([drip, 0.02])
    return Answer(first, lazily=drips)


DRIPS = [
    pytest.param(b": hello\n\n", b": keep-alive\n\n", id="keep-alives before anything"),
    pytest.param(text("Hello"), b": keep-alive\n\n", id="keep-alives after text"),
    pytest.param(text("Hello"), b"d", id="a line that never ends"),
    pytest.param(text("Hello"), chunk({"content": ""}), id="empty text"),
    pytest.param(text("Hello"), usage(10, 5), id="the same usage again and again"),
]


@pytest.mark.parametrize(("first", "drip"), DRIPS)
async def test_a_drip_without_progress_ends_the_request(tmp_path: Path, first: bytes, drip: bytes) -> None:
    async with LoopbackServer([dripping(first, drip)]) as server:
        the_plan = dataclasses.replace(planned(server.base_url, tmp_path), progress_timeout=SOON)
        async with open_session(the_plan) as session:
            session.workers[0].prompt("go")
            await settled(session)
            shown = Reader(session.workers[0]).read()
            assert shown.state == "failed"
            assert "no text, call or usage came from m for 1.5 s" in shown.detail
            assert "progress_timeout" in shown.detail
        async with asyncio.timeout(10):
            await server.streams[0].disconnected.wait()
        assert len(server.requests) == 1


async def test_an_answer_that_gets_on_slowly_takes_longer_than_the_progress_timeout(tmp_path: Path) -> None:
    slow = Answer(*[step for n in range(8) for step in (text(f"{n} "), SOON / 3)], finish(), DONE)
    async with LoopbackServer([slow]) as server:
        the_plan = dataclasses.replace(planned(server.base_url, tmp_path), progress_timeout=SOON)
        async with open_session(the_plan) as session:
            session.workers[0].prompt("go")
            await settled(session)
            assert Reader(session.workers[0]).read().state == "idle"


def made(folder: Path, settings: str = "", **flags: object) -> Plan:
    config = folder / "config"
    config.mkdir(exist_ok=True)
    server = '[providers.p]\nbase_url = "http://127.0.0.1:9/v1"\nmodels = ["m"]\n'
    (config / "config.toml").write_text(server + settings)
    environ = {"AGENT_TUI_CONFIG_DIR": str(config), "AGENT_TUI_DATA_DIR": str(folder / "data")}
    return plan(load_settings(None, environ=environ), Flags(workspace=folder, **flags), environ)  # type: ignore[arg-type]


async def patience(the_plan: Plan, *, headless: bool = False) -> float | None:
    """What an agent of this plan really waits."""
    from agent_tui_core.agent.policy import Policy

    async with open_session(the_plan, policy=Policy() if headless else None) as session:
        worker = session.workers[0]
        birth = session._assembly
        profile = the_plan.agents[0]
        connection = await session._connections.connect(profile)
        from agent_tui_core.runtime.assembly import Birth

        return birth._progress_timeout(Birth(worker.identity, profile, connection, ""))


async def test_a_flag_goes_before_the_profile_before_the_provider_and_headless_waits_half_an_hour(
    tmp_path: Path,
) -> None:
    both = 'progress_timeout = 100\n[agents.default]\nprovider = "p"\nprogress_timeout = 50\n'
    assert await patience(made(tmp_path)) is None
    assert await patience(made(tmp_path), headless=True) == UNATTENDED_PROGRESS_TIMEOUT == 1_800
    assert await patience(made(tmp_path, "progress_timeout = 100\n"), headless=True) == 100
    assert await patience(made(tmp_path, both)) == 50
    assert await patience(made(tmp_path, both, progress_timeout=7.5)) == 7.5
    assert await patience(made(tmp_path, both, progress_timeout=0.0), headless=True) is None


@pytest.mark.parametrize("wrong", ['"long"', "-1", "true", "1e9"])
def test_a_wrong_progress_timeout_is_refused_with_words(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ConfigError, match="progress_timeout"):
        made(tmp_path, f"progress_timeout = {wrong}\n")


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), 1e9])
def test_a_wrong_flag_is_refused_with_words(tmp_path: Path, wrong: float) -> None:
    with pytest.raises(ConfigError, match="--progress-timeout: should be seconds"):
        made(tmp_path, progress_timeout=wrong)


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan")])
def test_a_client_refuses_a_progress_timeout_that_is_none(wrong: float) -> None:
    with pytest.raises(ValueError, match="progress_timeout"):
        AgentOptions(model="m", progress_timeout=wrong)
