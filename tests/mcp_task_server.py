"""A small MCP server over stdio for tests, without the SDK: its tools run as tasks, and it has resources.

    python mcp_task_server.py FOLDER [MODE …]

It writes what it was sent to FOLDER/heard.jsonl, a line each. Modes: `no-tasks` (it says of itself that it
runs none), `no-list` (it has resources and lists none).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
MODES = sys.argv[2:]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
RESULTS: dict[str, Any] = {}
"""What was asked of the client, and the request that waits for the answer."""
TASKS: dict[str, dict[str, Any]] = {}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def texts(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def tools() -> list[dict[str, Any]]:
    names = ("research", "endless", "asking", "failing", "stuck")
    as_tasks = [
        {"name": name, "inputSchema": TEXT, "execution": {"taskSupport": "required"}} for name in names
    ]
    either = {"name": "either", "inputSchema": TEXT, "execution": {"taskSupport": "optional"}}
    return [*as_tasks, either, {"name": "links", "inputSchema": TEXT}]


def task(key: str) -> dict[str, Any]:
    """The task as it is now: it is working when it is asked after for the first three times."""
    one = TASKS[key]
    state = {name: one[name] for name in ("taskId", "createdAt", "ttl", "pollInterval")}
    one["asked"] += 1
    words = {"statusMessage": f"step\x1b[2J {one['asked']}"} if one["name"] == "research" else {}
    return state | words | {"status": status(one), "lastUpdatedAt": f"at {one['asked']}"}


def status(one: dict[str, Any]) -> str:
    if one.get("cancelled"):
        return "cancelled"
    if one["name"] in {"endless", "stuck"} or one["asked"] <= 3:
        return "working"
    if one["name"] == "asking" and "answer" not in one:
        return "input_required"
    return "failed" if one["name"] == "failing" else "completed"


def begin(message: dict[str, Any]) -> dict[str, Any]:
    params = message["params"]
    key = f"task-{len(TASKS)}"
    token = params.get("_meta", {}).get("progressToken")
    now = "2026-01-01T00:00:00Z"
    own = {"taskId": key, "createdAt": now, "ttl": params["task"].get("ttl"), "pollInterval": 50}
    TASKS[key] = own | {"name": params["name"], "asked": 0, "token": token}
    return {"task": own | {"status": "working", "lastUpdatedAt": now}}


def call(message: dict[str, Any]) -> dict[str, Any]:
    params = message["params"]
    if "task" in params:
        return {"result": begin(message)}
    if params["name"] == "either":
        return {"result": texts("answered at once")}
    if params["name"] == "links":
        links = [{"type": "resource_link", "uri": "memo://linked", "name": "a memo"}]
        return {"result": {"content": links}}
    return {"error": {"code": -32601, "message": "this tool has to be run as a task"}}


def result_of(message: dict[str, Any]) -> dict[str, Any] | None:
    one = TASKS[message["params"]["taskId"]]
    if one["name"] == "asking" and "answer" not in one:
        RESULTS["q1"] = (message["id"], one)
        question = {"message": "Who?", "requestedSchema": FORM}
        say({"id": "q1", "method": "elicitation/create", "params": question})
        return None
    if one["name"] == "failing":
        return {"error": {"code": -32000, "message": "the disk is full"}}
    return {"result": texts(f"done: {one['name']} {json.dumps(one.get('answer'))}")}


READ = {
    "memo://linked": {"uri": "memo://linked", "text": "what was linked"},
    "memo://listed": {"uri": "memo://listed", "text": "what was listed"},
    "memo://of/ann": {"uri": "memo://of/ann", "text": "of ann"},
    "picture://1": {"uri": "picture://1", "mimeType": "image/png", "blob": "iVBORw0KGgo="},
    "sound://1": {"uri": "sound://1", "mimeType": "audio/wav", "blob": "AAAA"},
    "memo://long": {"uri": "memo://long", "text": "0123456789\n" * 400_000},
}


def hello() -> dict[str, Any]:
    runs: dict[str, Any] = (
        {} if "no-tasks" in MODES else {"tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}
    )
    info = {"name": "tasks", "version": "1"}
    capabilities = {"tools": {}, "resources": {}, **runs}
    return {"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}}


def asked_after(key: str) -> dict[str, Any]:
    one = TASKS[key]
    if one["token"] is not None and one["name"] == "research":
        step = {"progressToken": one["token"], "progress": one["asked"] + 1, "total": 3}
        say({"method": "notifications/progress", "params": step})
    stuck = {"lastUpdatedAt": "never"} if one["name"] == "stuck" else {}
    return {"result": task(key) | stuck}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    params = message.get("params", {})
    match message.get("method"):
        case "initialize":
            return hello()
        case "tools/list":
            return {"result": {"tools": tools()}}
        case "tools/call":
            return call(message)
        case "tasks/get":
            return asked_after(params["taskId"])
        case "tasks/result":
            return result_of(message)
        case "tasks/cancel":
            TASKS[params["taskId"]]["cancelled"] = True
            return {"result": task(params["taskId"])}
        case "resources/list" if "no-list" not in MODES:
            listed = [{"uri": uri, "name": f"name\x1b[2J of {uri}"} for uri in READ if "long" not in uri]
            return {"result": {"resources": [one for one in listed if one["uri"] != "memo://linked"]}}
        case "resources/templates/list" if "no-list" not in MODES:
            return {"result": {"resourceTemplates": [{"uriTemplate": "memo://of/{who}", "name": "memos"}]}}
        case "resources/read" if params["uri"] in READ:
            return {"result": {"contents": [READ[params["uri"]]]}}
        case None:
            waiting, one = RESULTS.pop(message["id"])
            one["answer"] = message.get("result")
            say({"id": waiting, **(result_of({"params": {"taskId": one["taskId"]}}) or {})})
            return None
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    with (FOLDER / "pids").open("a") as file:
        file.write(f"{os.getpid()}\n")
    for line in sys.stdin:
        message = json.loads(line)
        with (FOLDER / "heard.jsonl").open("a") as file:
            file.write(json.dumps(message | {"at": time.time()}) + "\n")
        said = answer(message)
        if said is not None and "id" in message and "method" in message:
            say({"id": message["id"], **said})


main()
