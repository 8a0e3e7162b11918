"""What is said at a resume counts from the next request on, and the pane says so; nothing is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.errors import ConfigError
from agent_tui_core.history.store import History
from agent_tui_core.runtime.entries import EndEntry, NoticeEntry
from agent_tui_core.runtime.session import HISTORY_FILE, open_session
from loopback import LoopbackServer, say
from sessions import Reader, settled

ELSEWHERE = "https://models.invalid/v1"


def planned(folder: Path, settings: str, **flags: object) -> Plan:
    config, workspace = folder / "config", folder / "workspace"
    config.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    (config / "config.toml").write_text(settings)
    environ = {"AGENT_TUI_DATA_DIR": str(folder / "data"), "AGENT_TUI_CONFIG_DIR": str(config)}
    chosen = Flags(workspace=workspace, **flags)  # type: ignore[arg-type]
    return plan(load_settings(None, environ=environ), chosen, environ)


def provider(name: str, url: str) -> str:
    return f'[providers.{name}]\nbase_url = "{url}"\n'


async def begun(the_plan: Plan) -> None:
    """A session in which something was said: the newest that there is."""
    async with open_session(the_plan) as session:
        session.workers[0].prompt("hello")
        await settled(session)


async def resumed(the_plan: Plan) -> list[str]:
    """Come back, say something more, and return what the pane says that it did not say before."""
    async with open_session(the_plan, resume="") as session:
        reader = Reader(session.workers[0])
        before = list(reader.read().entries)
        noticed = [e.text for e in before if isinstance(e, NoticeEntry)]
        session.workers[0].prompt("and now?")
        await settled(session)
        ends = [e.reason for e in reader.read().entries[len(before) :] if isinstance(e, EndEntry)]
        return [*noticed, *ends]


async def test_a_model_and_a_server_that_are_said_at_a_resume_count_and_stay(tmp_path: Path) -> None:
    answers = [say("one"), say("two")]
    async with LoopbackServer([say("old")]) as before, LoopbackServer(answers) as after:
        settings = provider("mine", before.base_url)
        await begun(planned(tmp_path, settings, model="first"))
        told = await resumed(planned(tmp_path, settings, model="second", base_url=after.base_url))
        host = after.base_url.removeprefix("http://").removesuffix("/v1")
        assert told == [f"Now model second at {host}: from the next request on."]
        assert await resumed(planned(tmp_path, settings)) == []
    assert [request.json["model"] for request in before.requests] == ["first"]
    assert [request.json["model"] for request in after.requests] == ["second", "second"]
    assert after.requests[0].json["messages"][1]["content"] == "hello"


async def test_without_words_an_agent_goes_on_with_its_own_model(tmp_path: Path) -> None:
    async with LoopbackServer([say("one"), say("two")]) as server:
        settings = provider("mine", server.base_url) + '[agents.default]\nmodel = "of the profile"\n'
        await begun(planned(tmp_path, settings, model="said"))
        assert await resumed(planned(tmp_path, settings)) == []
    assert [request.json["model"] for request in server.requests] == ["said", "said"]


async def test_what_changed_in_its_profile_counts_and_is_named(tmp_path: Path) -> None:
    async with LoopbackServer([say("one"), say("two"), say("three")]) as server:
        base = (
            provider("mine", server.base_url)
            + '[dashboard]\nagents = ["review"]\n[agents.review]\nmodel = "m"\n'
        )
        await begun(planned(tmp_path, f'{base}system_prompt = "Be kind."\nmode = "auto"\n'))
        changed = f'{base}system_prompt = "Be strict."\ntools = ["Read"]\ncontext_limit = 4096\n'
        [told] = await resumed(planned(tmp_path, changed))
        assert told == (
            "Now system prompt, tools, context limit, mode as the profile 'review' has them now: "
            "from the next request on."
        )
        assert await resumed(planned(tmp_path, changed)) == []
        async with open_session(planned(tmp_path, changed), resume="") as session:
            assert session.workers[0].mode.now == "ask"
    first, second, third = (request.json for request in server.requests)
    assert first["messages"][0]["content"].startswith("Be kind.")
    assert [each["messages"][0]["content"].split("\n")[0] for each in (second, third)] == ["Be strict."] * 2
    assert len(first["tools"]) > 1
    assert [tool["function"]["name"] for tool in second["tools"]] == ["Read"]


async def test_a_profile_that_is_gone_leaves_the_agent_as_it_was(tmp_path: Path) -> None:
    async with LoopbackServer([say("one"), say("two")]) as server:
        base = provider("mine", server.base_url)
        review = (
            '[dashboard]\nagents = ["review"]\n[agents.review]\nmodel = "m"\nsystem_prompt = "Be kind."\n'
        )
        await begun(planned(tmp_path, base + review))
        assert await resumed(planned(tmp_path, base)) == []
    assert server.requests[1].json["messages"][0]["content"].startswith("Be kind.")


async def test_a_provider_under_another_name_is_the_same_server(tmp_path: Path) -> None:
    await _stored_elsewhere(tmp_path)
    async with open_session(planned(tmp_path, provider("new", ELSEWHERE), model="m"), resume="") as session:
        assert session.workers[0].provider == "new"


@pytest.mark.parametrize("advice", ["settings", "flag"])
async def test_the_advice_about_a_provider_that_is_gone_works_when_it_is_followed(
    tmp_path: Path, advice: str
) -> None:
    await _stored_elsewhere(tmp_path)
    async with LoopbackServer([say("There.")]) as server:
        other = (
            provider("other", "https://other.invalid/v1")
            + '[agents.default]\nprovider = "other"\nmodel = "x"\n'
        )
        [told] = await resumed(planned(tmp_path, other))
        assert "[providers.mine]" in told
        assert "--base-url" in told
        if advice == "settings":
            told_now = await resumed(planned(tmp_path, other + provider("mine", server.base_url)))
        else:
            told_now = await resumed(planned(tmp_path, other, base_url=server.base_url))
        assert len(told_now) == 1
        assert told_now[0].startswith("Now model m at 127.0.0.1:")
        assert [request.json["model"] for request in server.requests] == ["m"]


async def _stored_elsewhere(folder: Path) -> None:
    """A session whose agent has a provider named mine, on another machine; nothing came of its prompt."""
    the_plan = planned(folder, provider("mine", ELSEWHERE), model="m")
    async with open_session(the_plan):
        pass
    history = await History.open(the_plan.data_dir / HISTORY_FILE)
    [conversation] = (await history.load()).conversations
    assert conversation.profile["base_url"] == ELSEWHERE
    await history.close()


async def test_what_cannot_count_in_a_session_that_comes_back_is_refused_with_words(tmp_path: Path) -> None:
    async with LoopbackServer([say("one")]) as server:
        settings = provider("mine", server.base_url)
        async with open_session(planned(tmp_path, settings, demo=True)):
            pass
        with pytest.raises(ConfigError, match="leave out -m and --base-url"):
            async with open_session(planned(tmp_path, settings, model="m"), resume=""):
                pass
        await begun(planned(tmp_path, settings, model="m"))
        with pytest.raises(ConfigError, match="no demo: leave out --demo"):
            async with open_session(planned(tmp_path, settings, demo=True), resume=""):
                pass
