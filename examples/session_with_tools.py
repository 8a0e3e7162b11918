"""An agent with a tool of your own and a picture: answer what it asks, follow it live, await its run."""

import asyncio
import os
import tempfile
from pathlib import Path

from agent_tui_core import (
    AllowOnce,
    Image,
    Text,
    TextDelta,
    ToolEnded,
    open_session,
    safe_text,
    session_plan,
    tool,
)

DOT = "R0lGODlhAQABAIABAP8AAP///yH5BAEAAAEALAAAAAABAAEAAAICRAEAOw=="


@tool
def measure(side: float) -> str:
    """Measure the dot. Asked about, because no rule allows it."""
    return f"{side * side} mm²"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo = not os.environ.get("OPENAI_BASE_URL")
        plan = session_plan(workspace=folder, data_dir=Path(folder) / "data", tools=["measure"], demo=demo)
        async with open_session(plan, tools=[measure], demo_pace=0.0) as session:
            worker = session.workers[0]

            def answer() -> None:
                for request in session.desk.pending:
                    print(f"-> allowed: {request.tool} {dict(request.input)}")
                    session.desk.answer(request.id, AllowOnce())

            loop = asyncio.get_running_loop()
            session.desk.watch(lambda: loop.call_soon(answer))
            live = worker.subscribe()
            picture = Image.from_base64(DOT, "image/gif")
            run = worker.prompt([picture, Text("How large? Use the tool measure: side is 3.")])
            await run
            for event in live.take():
                match event.body:
                    case TextDelta(text):
                        print(safe_text(text), end="")
                    case ToolEnded(result=result):
                        print(f"\n-> {result.content}")
            print(f"\n({run.end}, {len(worker.conversation.messages)} messages)")


asyncio.run(main())
