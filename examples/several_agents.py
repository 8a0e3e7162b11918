"""Give several agents the same task at once, with history, tools and a policy in the place of a person."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from agent_tui_core import open_session, read_policy, safe_text, session_plan


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plan = session_plan(
            ["ada", "bob", "cleo"],
            workspace=folder,
            data_dir=Path(folder) / "data",
            demo=not os.environ.get("OPENAI_BASE_URL"),
        )
        policy = read_policy(["deny", "Bash(ls *)"])  # reading is allowed; of commands, ls alone
        async with open_session(plan, policy=policy, demo_pace=0.1) as session:
            runs = session.start(" ".join(sys.argv[1:]) or "Which files are here?")
            for worker, run in zip(session.workers, runs, strict=True):
                ended = await run
                if ended.message is not None:
                    print(f"[{worker.name}] {safe_text(ended.message.text)}")
                print(f"[{worker.name}] {ended.end} after {ended.iterations} requests")


asyncio.run(main())
