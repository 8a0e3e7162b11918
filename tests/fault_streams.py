"""Owns the rows whose HTTP is well and whose answer is odd or broken; refuses to run them."""

from __future__ import annotations

from fault_kinds import CALL, CUT, GOOD, WHOLE, Ending, Fault
from fault_server import CLOSE, Endless, Step, chunked, http
from loopback import DONE, chunk, finish, sse, text, tool_call


def stream_faults() -> list[Fault]:
    web = http(b"<!doctype html><title>Log in</title>", content_type="text/html")
    whole = b'{"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}'
    broken = sse({"error": {"message": "the engine fell over", "code": 500}})
    deep = '{"a":' * 3000 + "1" + "}" * 3000
    calls = {"tool_calls": [{"index": 10**12, "id": "c", "function": {"name": "Nothing", "arguments": "{}"}}]}
    rows: list[tuple[str, tuple[Step, ...], Ending, str, str]] = [
        ("an empty body", (http(b""),), "retried", "", ""),
        ("only comments", (http(b": hi\n\n" * 99),), "retried", "", ""),
        ("only [DONE]", (http(DONE),), "failed", "empty response", ""),
        ("a web page", (web,), "failed", "Log in", ""),
        (
            "JSON in place of a stream",
            (http(whole, content_type="application/json"),),
            "completed",
            "",
            "Hello.",
        ),
        (
            "a JSON error with status 200",
            (http(b'{"error": {"message": "no such model"}}'),),
            "failed",
            "no such model",
            "",
        ),
        ("an error in mid-stream", (chunked(CUT, broken),), "failed", "the engine fell over", "Half a sen"),
        (
            "an error event first",
            (chunked(b"event: error\n" + broken),),
            "retried",
            "",
            "",
        ),
        (
            "the wrong content type",
            (http(WHOLE, content_type="application/octet-stream"),),
            "completed",
            "",
            "Hello.",
        ),
        ("no content type", (http(WHOLE, content_type=None),), "completed", "", "Hello."),
        (
            "a BOM and CR line ends",
            (http(b"\xef\xbb\xbf" + WHOLE.replace(b"\n", b"\r")),),
            "completed",
            "",
            "Hello.",
        ),
        (
            "junk for JSON",
            (chunked(CUT, b"data: {junk}\n\n"),),
            "failed",
            "no chunk of an answer",
            "Half a sen",
        ),
        ("junk for the first chunk", (chunked(b"data: {junk}\n\n"),), "retried", "", ""),
        (
            "JSON that is no object",
            (chunked(CUT, b"data: [1, 2]\n\n", finish(), DONE),),
            "failed",
            "it is no object",
            "Half a sen",
        ),
        (
            "bytes that are no UTF-8",
            (chunked(b'data: {"choices": [{"delta": {"content": "a\xff\xfeb"}}]}\n\n', finish(), DONE),),
            "completed",
            "",
            "a",
        ),
        (
            "controls in the text",
            (chunked(text("\x1b[2J\x1b]0;owned\x07\x00ok"), finish(), DONE),),
            "completed",
            "",
            "ok",
        ),
        (
            "choices that are no list",
            (chunked(CUT, sse({"choices": 7}), finish(), DONE),),
            "completed",
            "",
            "Half a sen",
        ),
        (
            "odd usage",
            (chunked(text("ok"), sse({"choices": [], "usage": {"prompt_tokens": "x"}}), finish(), DONE),),
            "completed",
            "",
            "ok",
        ),
        ("a finish without [DONE]", (chunked(text("ok"), finish()),), "completed", "", "ok"),
        ("[DONE] without a finish", (chunked(text("ok"), DONE),), "completed", "", "ok"),
        ("neither", (chunked(CUT),), "failed", "without a finish reason", "Half a sen"),
        ("a limit", (chunked(CUT, finish("length"), DONE),), "limit", "output limit", "Half a sen"),
        (
            "a call after a limit",
            (chunked(CALL, finish("length"), DONE), GOOD),
            "limit",
            "output limit",
            "",
        ),
        (
            "a call of nothing known",
            (chunked(sse({"choices": [{"index": 0, "delta": calls}]}), finish("tool_calls"), DONE),),
            "completed",
            "",
            "All well.",
        ),
        (
            "arguments of 3,000 levels",
            (chunked(tool_call("c", "Bash", deep), finish("tool_calls"), DONE),),
            "completed",
            "",
            "All well.",
        ),
        (
            "a line of 10 MB",
            (http(text("x" * 10_000_000 + " end") + finish() + DONE),),
            "completed",
            "",
            "end",
        ),
        ("a line of 17 MB", (http(text("x" * 17 * 2**20)), CLOSE), "failed", "more than 16", ""),
        (
            "a line without end",
            (chunked(end=False)[:-2] + b"\r\n", Endless(b"10000\r\n" + b"x" * 2**16 + b"\r\n")),
            "failed",
            "more than 16",
            "",
        ),
        (
            "fifty thousand events",
            (http(text("é ") * 50_000 + finish() + DONE),),
            "completed",
            "",
            "é",
        ),
        (
            "a role that is none",
            (chunked(chunk({"role": "\x1b[2J", "content": "ok"}), finish(), DONE),),
            "completed",
            "",
            "ok",
        ),
    ]
    return [Fault("stream", *row) for row in rows]
