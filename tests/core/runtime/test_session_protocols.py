"""Whole sessions over each protocol: a round of tools, what is stored of the agent, and its return."""

from pathlib import Path

from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.history.store import History
from agent_tui_core.runtime.session import HISTORY_FILE, open_session
from loopback import Answer, LoopbackServer, json_answer
from protocols import CHAT, MESSAGES, Speech, over_protocols, say
from sessions import Reader, settled


def planned(speech: Speech, base_url: str, folder: Path, model: str | None = "m") -> Plan:
    config, workspace = folder / "config", folder / "workspace"
    config.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    (config / "config.toml").write_text(
        f'[providers.mine]\nbase_url = "{base_url}"\nprotocol = "{speech.name}"\nthink_tags = true\n'
    )
    environ = {"AGENT_TUI_DATA_DIR": str(folder / "data"), "AGENT_TUI_CONFIG_DIR": str(config)}
    return plan(load_settings(None, environ=environ), Flags(model=model, workspace=workspace), environ)


def unconfigured(folder: Path) -> Plan:
    environ = {"AGENT_TUI_DATA_DIR": str(folder / "data"), "AGENT_TUI_CONFIG_DIR": str(folder / "none")}
    return plan(load_settings(None, environ=environ), Flags(workspace=folder / "workspace"), environ)


def looking(speech: Speech) -> Answer:
    w = speech.writer()
    call = ("call_1", "Glob", ['{"pattern":', ' "*"}'])
    return Answer(
        w.thought("hm", "one"), w.thought("so", "two"), w.text("I look."), w.calls(call), w.end("tool_use")
    )


@over_protocols
async def test_a_round_of_tools_is_made_stored_and_taken_up_again(speech: Speech, tmp_path: Path) -> None:
    answers = [looking(speech), say(speech, "Done."), say(speech, "<think>hm</think>Again.")]
    async with LoopbackServer(answers) as server:
        async with open_session(planned(speech, server.base_url, tmp_path)) as session:
            session.workers[0].prompt("look around")
            await settled(session)
            before = Reader(session.workers[0]).read()
        async with open_session(unconfigured(tmp_path), resume="") as again:
            after = Reader(again.workers[0]).read()
            assert [type(entry) for entry in after.entries] == [type(entry) for entry in before.entries]
            again.workers[0].prompt("and now?")
            await settled(again)
            kinds = [getattr(entry, "kind", "") for entry in Reader(again.workers[0]).read().entries]
    assert [asked.path for asked in server.requests] == [speech.path] * 3
    for asked in server.requests:
        speech.rules(asked.json)
    assert [speech.sealed(asked.json) for asked in server.requests[1:]] == [["one", "two"]] * 2
    assert kinds[-2:] == ["reasoning", "text"]


@over_protocols
async def test_what_is_stored_of_an_agent_names_its_protocol(speech: Speech, tmp_path: Path) -> None:
    async with LoopbackServer() as server, open_session(planned(speech, server.base_url, tmp_path)):
        pass
    history = await History.open(tmp_path / "data" / HISTORY_FILE)
    try:
        (stored,) = (await history.load()).conversations
    finally:
        await history.close()
    assert stored.profile["protocol"] == speech.name
    assert stored.profile["think_tags"] is True


@over_protocols
async def test_an_agent_goes_on_over_another_protocol(speech: Speech, tmp_path: Path) -> None:
    first = MESSAGES if speech is CHAT else CHAT
    answers = [looking(first), say(first, "Done."), looking(speech), say(speech, "Done again.")]
    async with LoopbackServer(answers) as server:
        async with open_session(planned(first, server.base_url, tmp_path)) as session:
            session.workers[0].prompt("look around")
            await settled(session)
        async with open_session(planned(speech, server.base_url, tmp_path), resume="") as again:
            again.workers[0].prompt("and again")
            await settled(again)
    paths = [asked.path for asked in server.requests]
    assert paths == [first.path, first.path, speech.path, speech.path]
    for asked in server.requests[2:]:
        speech.rules(asked.json)


@over_protocols
async def test_without_a_name_the_first_model_of_a_local_server_answers(
    speech: Speech, tmp_path: Path
) -> None:
    listed = json_answer({"data": [{"id": "first"}, {"id": "second"}]})
    async with LoopbackServer([listed]) as server:
        async with open_session(planned(speech, server.base_url, tmp_path, model=None)) as session:
            assert session.workers[0].model == "first"
