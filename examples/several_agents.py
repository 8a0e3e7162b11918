"""Give several agents the same task at once, with history, tools and a policy in the place of a person."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from agent_tui_core import open_session
from agent_tui_core.agent.policy import read_policy
from agent_tui_core.config.load import load_settings
from agent_tui_core.config.profiles import Flags, plan
from agent_tui_core.events import MessageCommitted, RunEnded
from agent_tui_core.text import safe_text


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        flags = Flags(
            agents=("ada", "bob", "cleo"),
            workspace=Path(folder),
            data_dir=Path(folder) / "data",
            demo=not os.environ.get("OPENAI_BASE_URL"),
        )
        chosen = plan(load_settings(None, environ=os.environ), flags, os.environ)
        policy = read_policy(["deny", "Bash(ls *)"])  # reading is allowed; of commands, ls alone
        async with open_session(chosen, policy=policy, demo_pace=0.1) as session:
            listening = [(worker, worker.subscribe()) for worker in session.workers]
            session.start(" ".join(sys.argv[1:]) or "Which files are here?")
            for worker in session.workers:
                await worker.idle()
            for worker, subscription in listening:
                for event in subscription.take():
                    match event.body:
                        case MessageCommitted(message) if message.role == "assistant":
                            print(f"[{worker.name}] {safe_text(message.text)}")
                        case RunEnded(end=end, iterations=iterations):
                            print(f"[{worker.name}] {end} after {iterations} requests")


asyncio.run(main())
