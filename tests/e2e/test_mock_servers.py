"""Published servers that break on demand, against the real `agent-tui run`. Run by `make mock-servers`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mock_servers
from headless_program import KEY, environment

pytestmark = [pytest.mark.mock_servers, pytest.mark.timeout(300)]

PROTOCOLS = ("chat", "anthropic", "responses")
PLACE = "AGENT_TUI_MOCK_SERVERS"
"""A folder that keeps the servers between runs."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Path(os.environ.get(PLACE) or tmp_path_factory.mktemp("mock_servers"))
    made.mkdir(parents=True, exist_ok=True)
    return made


@dataclass(frozen=True, slots=True)
class Told:
    """What one `agent-tui run --json` told."""

    end: str
    reason: str
    retries: int
    text: str
    outcomes: tuple[str, ...]


def run(base_url: str, protocol: str, prompt: str, place: Path) -> Told:
    """Run one prompt to its end. By the header aimock tells one test from another."""
    (place / "config").mkdir()
    (place / "workspace").mkdir()
    (place / "config" / "config.toml").write_text(
        f'[providers.mock]\nbase_url = "{base_url}"\nprotocol = "{protocol}"\napi_key_env = "MOCK_KEY"\n'
        f'headers = {{ X-Test-Id = "{protocol}" }}\n'
        '[agents.default]\nmodel = "gpt-4o"\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "agent_tui", "run", "--json", "--workspace", str(place / "workspace"), prompt],
        env=environment(place) | {"MOCK_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    of = {kind: [line for line in lines if line["type"] == kind] for kind in {line["type"] for line in lines}}
    [ended] = of["RunEnded"]
    started = [index for index, line in enumerate(lines) if line["type"] == "RequestStarted"]
    text = [line["text"] for line in lines[started[-1] :] if line["type"] == "TextDelta"]
    return Told(
        ended["end"],
        ended["reason"],
        len(of.get("RequestRetrying", ())),
        "".join(text),
        tuple(line["outcome"] for line in of.get("ToolEnded", ())),
    )


# --- llmock: scenarios, and its verdict ---------------------------------------------------------------------

WORDS = {"type": "reply", "text": "one two three four five six seven eight nine ten"}
CALL = {"type": "reply", "tool_calls": [{"name": "Glob", "arguments": {"pattern": "*" * 80}}]}
CUT_AFTER_TEXT = 6
"""Chunks after which each protocol has sent some of its text."""


def fault(kind: str, after: int) -> dict[str, Any]:
    return {"type": "stream_fault", "kind": kind, "after_chunks": after, "stall_seconds": 2}


Row = tuple[list[dict[str, Any]], str, int, tuple[str, ...]]
"""Behaviours, end, retries, and the marks that are explained beside them."""
SCENARIOS: dict[str, Row] = {
    "nothing wrong": ([WORDS], "completed", 0, ()),
    "429 with Retry-After": ([{"type": "fail", "status": 429, "retry_after": 1}, WORDS], "completed", 1, ()),
    "429 twice": ([{"type": "fail", "status": 429, "times": 2}, WORDS], "completed", 2, ()),
    "503 three times": ([{"type": "fail", "status": 503, "times": 3}, WORDS], "completed", 3, ()),
    "500 for ever": ([{"type": "fail", "status": 500, "times": None}], "failed", 3, ()),
    **{
        f"a single {status}": ([{"type": "fail", "status": status}, WORDS], "completed", 1, ())
        for status in (408, 409, 500, 502, 504, 529)
    },
    **{
        f"{status}": ([{"type": "fail", "status": status}, WORDS], "failed", 0, ())
        for status in (400, 401, 403, 404, 413, 422)
    },
    # Nobody waits for an hour with a prompt in flight: the run fails and says how long was asked for.
    "429 for an hour": ([{"type": "fail", "status": 429, "retry_after": 3600}], "failed", 0, ("gave_up",)),
    "a slow answer": ([{"type": "delay", "seconds": 1}, WORDS], "completed", 0, ()),
    "a slow first token": ([{"type": "slow_first_token", "seconds": 1.5}, WORDS], "completed", 0, ()),
    **{
        f"{kind} before any text": ([WORDS, fault(kind, 0)], "completed", 1, ())
        for kind in ("disconnect", "truncate", "malformed")
    },
    **{
        f"{kind} within a call": ([CALL, fault(kind, 2), WORDS], "completed", 1, ())
        for kind in ("disconnect", "truncate", "malformed")
    },
    # Text was shown: asking again would tell it twice. The run fails, says so, and keeps what came.
    "disconnect after text": ([WORDS, fault("disconnect", CUT_AFTER_TEXT)], "failed", 0, ("gave_up",)),
    "truncate after text": (
        [WORDS, fault("truncate", CUT_AFTER_TEXT)],
        "failed",
        0,
        ("truncated_stream_accepted",),
    ),
    "malformed after text": (
        [WORDS, fault("malformed", CUT_AFTER_TEXT)],
        "failed",
        0,
        ("malformed_chunk_ignored",),
    ),
    # A model may think for two seconds: silence is told on the screen, and ends a request after idle_timeout.
    "silence of two seconds": ([WORDS, fault("stall", 1)], "completed", 0, ("no_read_timeout",)),
    "a call": ([CALL, WORDS], "completed", 0, ()),
    "broken arguments": (
        [{"type": "tool_fault", "kind": "malformed_arguments"}],
        "completed",
        0,
        (),
    ),
    "a tool that is not there": ([{"type": "tool_fault", "kind": "unknown_tool"}], "completed", 0, ()),
    "an answer cut by its length": ([{**WORDS, "finish_reason": "length"}], "limit", 0, ()),
}
LLMOCK_PATHS = {"chat": "/v1", "anthropic": "/anthropic/v1", "responses": "/v1"}


@pytest.fixture(scope="module")
def llmock(folder: Path) -> Iterator[str]:
    with mock_servers.llmock(folder) as address:
        yield address


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_llmock_has_no_mark_but_those_explained(
    llmock: str, protocol: str, name: str, tmp_path: Path
) -> None:
    behaviors, end, retries, explained = SCENARIOS[name]
    mock_servers.ask(f"{llmock}/_llmock/reset", "POST")
    mock_servers.ask(f"{llmock}/_llmock/scenario", "POST", {"behaviors": behaviors})
    told = run(f"{llmock}{LLMOCK_PATHS[protocol]}", protocol, "Say something.", tmp_path)
    verdict = mock_servers.ask(f"{llmock}/_llmock/verdict")
    marks = tuple(finding["code"] for finding in verdict["findings"])
    sys.stdout.write(
        f"llmock | {protocol} | {name} | {told.end} | {verdict['attempts']} | {', '.join(marks) or 'none'}\n"
    )
    assert (told.end, told.retries) == (end, retries), told
    assert marks == explained, verdict["findings"]


# --- aimock: fixtures, and how each ends --------------------------------------------------------------------

LOOK = {"name": "Glob", "arguments": {"pattern": "*"}}
DONE = {"content": "All well."}


def fixture(name: str, response: dict[str, Any], *, first: bool | None = None, **more: Any) -> dict[str, Any]:
    """One answer to the prompt of a case; `first`: to its first request, or to those that follow."""
    match: dict[str, Any] = {"userMessage": name}
    if first is not None:
        match["sequenceIndex"] = 0 if first else 1
    return {"match": match, "response": response, **more}


def broken_once(name: str, response: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [fixture(name, response, first=True, **more), fixture(name, DONE, first=False)]


def error(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"message": "so it is", "type": "an_error"}, "status": status, **more}


SLOWLY: dict[str, Any] = {"chunkSize": 5, "latency": 20}
LONG = {"content": "one two three four five six seven eight nine ten " * 4}
CASES: dict[str, tuple[list[dict[str, Any]], str, int]] = {
    "case-text": ([fixture("case-text", DONE)], "completed", 0),
    "case-reasoning": ([fixture("case-reasoning", {**DONE, "reasoning": "Let me see."})], "completed", 0),
    "case-call": (broken_once("case-call", {"toolCalls": [LOOK]}), "completed", 0),
    "case-both": (broken_once("case-both", {"content": "I look.", "toolCalls": [LOOK]}), "completed", 0),
    "case-two-calls": (broken_once("case-two-calls", {"toolCalls": [LOOK, LOOK]}), "completed", 0),
    "case-no-tool": (
        broken_once("case-no-tool", {"toolCalls": [{"name": "Nothing", "arguments": {}}]}),
        "completed",
        0,
    ),
    "case-429": (broken_once("case-429", error(429)), "completed", 1),
    "case-503": (broken_once("case-503", error(503)), "completed", 1),
    "case-500-for-ever": ([fixture("case-500-for-ever", error(500))], "failed", 3),
    "case-400": (broken_once("case-400", error(400)), "failed", 0),
    "case-401": (broken_once("case-401", error(401)), "failed", 0),
    "case-length": ([fixture("case-length", {**DONE, "finishReason": "length"})], "limit", 0),
    "case-filter": ([fixture("case-filter", {**DONE, "finishReason": "content_filter"})], "failed", 0),
    "case-late-cut": (
        [fixture("case-late-cut", LONG, **SLOWLY, truncateAfterChunks=8)],
        "failed",
        0,
    ),
    "case-cut-call": (
        broken_once("case-cut-call", {"toolCalls": [LOOK]}, chunkSize=2, latency=20, truncateAfterChunks=3),
        "completed",
        1,
    ),
    "case-cut-early": (
        broken_once("case-cut-early", DONE, **SLOWLY, truncateAfterChunks=1),
        "completed",
        1,
    ),
    "case-hangup": (
        [fixture("case-hangup", LONG, **SLOWLY, disconnectAfterMs=400)],
        "failed",
        0,
    ),
    "case-dropped": ([fixture("case-dropped", DONE, chaos={"dropRate": 1})], "failed", 3),
    "case-malformed": ([fixture("case-malformed", DONE, chaos={"malformedRate": 1})], "failed", 3),
    "case-disconnect": ([fixture("case-disconnect", DONE, chaos={"disconnectRate": 1})], "failed", 3),
}


@pytest.fixture(scope="module")
def aimock(folder: Path) -> Iterator[str]:
    fixtures = [each for found, _, _ in CASES.values() for each in found]
    with mock_servers.aimock(folder, fixtures) as address:
        yield address


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_aimock_ends_each_case_as_it_should(aimock: str, protocol: str, name: str, tmp_path: Path) -> None:
    _, end, retries = CASES[name]
    mock_servers.ask(f"{aimock}/__aimock/reset/journal", "POST")
    told = run(f"{aimock}/v1", protocol, name, tmp_path)
    sys.stdout.write(f"aimock | {protocol} | {name} | {told.end} | {told.retries} | {told.reason}\n")
    assert (told.end, told.retries) == (end, retries), told
    assert end != "completed" or told.text == "All well."
