"""An agent that was closed leaves nothing in the memory of the session that it worked in."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

from agent_tui_core.agent.approvals import AllowAlways
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, Plan, plan
from agent_tui_core.hooks.agent_commands import AgentCommands
from agent_tui_core.runtime.session import open_session
from loopback import LoopbackServer, call, say
from sessions import waiting

SETTINGS = """
[[hooks.PostToolUse]]
matcher = "Bash"
command = "cat > /dev/null"
"""


def hooked_plan(base_url: str, folder: Path) -> Plan:
    environ = {"AGENT_TUI_DATA_DIR": str(folder / "data"), "AGENT_TUI_CONFIG_DIR": str(folder / "config")}
    for name in ("workspace", "config"):
        (folder / name).mkdir()
    (folder / "config" / "config.toml").write_text(SETTINGS)
    flags = Flags(base_url=base_url, model="m", workspace=folder / "workspace")
    return plan(load_settings(None, environ=environ), flags, environ)


async def test_an_agent_that_was_closed_is_forgotten_with_its_rules_and_hooks(tmp_path: Path) -> None:
    answers = [call("Bash", {"command": "touch here"}), say("Done.")]
    async with (
        LoopbackServer(answers) as server,
        open_session(hooked_plan(server.base_url, tmp_path)) as session,
    ):
        worker = await session.add_worker()
        worker.prompt("go")
        await waiting(session)
        [request] = session.desk.pending
        session.desk.answer(request.id, AllowAlways("Bash(touch *)", "agent"))
        async with asyncio.timeout(20):
            await worker.idle()
        assert (tmp_path / "workspace" / "here").exists()
        hooks = session.equipment.command_hooks.commands
        assert hooks is not None
        assert any(layer.agent == worker.id for layer in session.permissions.book.layers())
        [file] = _transcripts(hooks.transcripts._folder)
        conversation, gone = weakref.ref(worker._conversation), weakref.ref(worker)

        await session.remove_worker(worker.id)
        agent_id = worker.id
        del worker, request
        gc.collect()
        assert gone() is None
        assert conversation() is None
        assert not any(isinstance(each, AgentCommands) for each in gc.get_objects())
        assert not any(layer.agent == agent_id for layer in session.permissions.book.layers())
        assert not file.exists()


def _transcripts(folder: Path | None) -> list[Path]:
    assert folder is not None
    return list(folder.glob("*.jsonl"))
