"""A small MCP server over stdio for tests, without the SDK: it does what its arguments say, good or bad.

    python mcp_scripted_server.py FOLDER [MODE …]

It writes what it was sent to FOLDER/heard.jsonl, a line each, and lists the tools of FOLDER/tools.json too.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
MODES = sys.argv[2:]
PIXEL = base64.b64encode(bytes.fromhex("89504e470d0a1a0a")).decode()
ANY = {"type": "object", "properties": {"text": {"type": "string"}}}


def say(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


LOCK = threading.Lock()
ANSWERS: dict[str, Any] = {}
ANSWERED = threading.Condition()


def ask(key: str, method: str, params: dict[str, Any]) -> Any:
    """Ask the client something and wait for the answer."""
    say({"id": key, "method": method, "params": params})
    with ANSWERED:
        ANSWERED.wait_for(lambda: key in ANSWERS)
        return ANSWERS.pop(key)


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": ANY, **more}


def tools() -> list[dict[str, Any]]:
    if "many" in MODES:
        return [tool(f"tool_{number}") for number in range(10_000)]
    found = [
        tool(name)
        for name in (
            "echo",
            "never",
            "flood",
            "die",
            "form",
            "link",
            "progress",
            "picture",
            "roots",
            "sample",
            "fails",
            "grow",
        )
    ]
    found.append(tool("safe", annotations={"readOnlyHint": True, "destructiveHint": False}))
    if "controls" in MODES:
        found.append(tool("be\x1b[2Jep", "\x1b]0;owned\x07It beeps.\x07 [@click=app.quit]now[/]"))
    if "evil-schema" in MODES:
        evil = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}}
        found.append(tool("backtrack", inputSchema=evil, outputSchema=evil))
        doubled: dict[str, Any] = {"d0": {"type": "string"}}
        for number in range(1, 40):
            doubled[f"d{number}"] = {"allOf": [{"$ref": f"#/$defs/d{number - 1}"}] * 2}
        found.append(
            tool(
                "double",
                inputSchema={
                    "type": "object",
                    "properties": {"text": {"$ref": "#/$defs/d39"}},
                    "$defs": doubled,
                },
            )
        )
        found.append(tool("remote", inputSchema={"type": "object", "$ref": "http://127.0.0.1:9/schema.json"}))
        found.append(
            tool("broken", inputSchema={"type": "object", "properties": {"text": {"type": "strange"}}})
        )
    more = FOLDER / "tools.json"
    return found + (json.loads(more.read_text()) if more.exists() else [])


def texts(text: str, count: int = 1) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}] * count}


def asked(key: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return texts(json.dumps(ask(key, method, params)))


def die() -> dict[str, Any]:
    sys.stderr.write("ValueError: it hurts \x1b[31m\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def progress(token: Any) -> dict[str, Any]:
    for number in range(1, 4):
        step = {"progressToken": token, "progress": number, "total": 3, "message": f"step\x07 {number}"}
        say({"method": "notifications/progress", "params": step})
        time.sleep(0.12)
    return texts("done")


def grow() -> dict[str, Any]:
    (FOLDER / "tools.json").write_text(json.dumps([tool("grown")]))
    say({"method": "notifications/tools/list_changed"})
    return texts("grown")


def result(name: str, text: str, meta: dict[str, Any]) -> dict[str, Any]:
    link = {"mode": "url", "message": "Sign in", "url": "https://example.org/in", "elicitationId": "1"}
    made: dict[str, Any] = {
        "die": die,
        "flood": lambda: texts("0123456789\n" * 400_000, 4 if text == "more" else 1),
        "form": lambda: asked(
            "q1", "elicitation/create", {"message": "Which\x1b[2J one?", "requestedSchema": FORM}
        ),
        "link": lambda: asked("q2", "elicitation/create", link),
        "roots": lambda: asked("q3", "roots/list", {}),
        "sample": lambda: asked("q4", "sampling/createMessage", {"messages": [], "maxTokens": 5}),
        "progress": lambda: progress(meta.get("progressToken")),
        "picture": lambda: PICTURE,
        "safe": lambda: {"content": [], "structuredContent": {"answer": 42}},
        "fails": lambda: texts("it went wrong") | {"isError": True},
        "backtrack": lambda: {"content": [], "structuredContent": {"text": "a" * 40 + "!"}},
        "grow": grow,
    }
    answer: dict[str, Any] = made.get(name, lambda: texts(f"{name}: {text}"))()
    return answer


def call(request: dict[str, Any]) -> None:
    params = request["params"]
    name, text = params["name"], params.get("arguments", {}).get("text", "")
    if name != "never":
        say({"id": request["id"], "result": result(name, text, params.get("_meta", {}))})


PICTURE = {
    "content": [
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///etc/passwd", "name": "pass\x1b[2Jwd"},
        {"type": "resource", "resource": {"uri": "memo:1", "text": "a memo"}},
    ]
}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def heard(message: dict[str, Any]) -> None:
    with (FOLDER / "heard.jsonl").open("a") as file:
        file.write(json.dumps(message) + "\n")


def answer(message: dict[str, Any]) -> None:
    method = message.get("method")
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        info = {"name": "scripted\x1b[2J", "version": "1"}
        version = "2025-06-18"
        if "elicit" in MODES:
            version = "2025-11-25"
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        say({"id": message["id"], "result": result})
    elif method == "tools/list":
        say({"id": message["id"], "result": {"tools": tools()}})
    elif method == "tools/call":
        threading.Thread(target=call, args=(message,), daemon=True).start()
    elif method is None:
        with ANSWERED:
            ANSWERS[str(message["id"])] = message.get("result", message.get("error"))
            ANSWERED.notify_all()
    elif "id" in message:
        say({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})


def behave() -> None:
    if "dies" in MODES:
        sys.stderr.write(
            "Traceback (most recent call last):\n  File x\nKeyError: 'TOKEN \x1b[31m is missing'\n"
        )
        sys.exit(3)
    if "stubborn" in MODES:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
    if "garbage" in MODES:
        sys.stdout.write("Welcome to the server!\n\x1b[2J{not json}\n\n")
    while "flood" in MODES:
        sys.stdout.write("garbage " * 1000 + "\n")
    while "endless" in MODES:
        sys.stdout.write("x" * 65536)


def main() -> None:
    with (FOLDER / "pids").open("a") as file:
        file.write(f"{os.getpid()}\n")
    behave()
    for line in sys.stdin:
        message = json.loads(line)
        heard(message)
        if "strict" in MODES:
            MODES.remove("strict")
            if message.get("method") != "initialize":
                sys.exit("expected initialize")
        if "silent" not in MODES:
            answer(message)
    if "stubborn" in MODES:
        time.sleep(600)


main()
