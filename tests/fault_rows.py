"""Owns the table of broken networks: what a server does, and what a person has to read; refuses to run it."""

from __future__ import annotations

import gzip
import zlib
from email.utils import formatdate
from time import time
from typing import Final

from fault_kinds import BOMB, CALL, CUT, GOOD, SECRET, WHOLE, Ending, Fault
from fault_server import CLOSE, HANG, RESET, UNREAD, Drip, Endless, Step, chunked, http
from fault_streams import stream_faults
from fault_tls import tls_faults


def _transport() -> list[Fault]:
    rows: list[tuple[str, tuple[Step, ...], Ending, str, str]] = [
        ("closed before the request", (UNREAD, CLOSE), "retried", "", ""),
        ("reset before the request", (UNREAD, RESET), "retried", "", ""),
        ("closed after the request", (CLOSE,), "retried", "", ""),
        ("reset after the request", (RESET,), "retried", "", ""),
        ("half-open: nothing ever comes", (HANG,), "retried", "", ""),
        ("half-open, the request unread", (UNREAD, HANG), "retried", "", ""),
        ("closed within the status line", (b"HTTP/1.1 2", CLOSE), "retried", "", ""),
        ("reset within the headers", (b"HTTP/1.1 200 OK\r\nContent-Ty", RESET), "retried", "", ""),
        ("silence within the headers", (b"HTTP/1.1 200 OK\r\n", HANG), "retried", "", ""),
        ("closed after the headers", (chunked(end=False), CLOSE), "retried", "", ""),
        ("reset after the headers", (chunked(end=False), RESET), "retried", "", ""),
        ("silence after the headers", (chunked(end=False), HANG), "retried", "", ""),
        (
            "closed within the answer",
            (chunked(CUT, end=False), CLOSE),
            "failed",
            "broke before the answer",
            "Half a sen",
        ),
        (
            "reset within the answer",
            (chunked(CUT, end=False), 0.05, RESET),
            "failed",
            "broke before the answer",
            "Half a sen",
        ),
        (
            "silence within the answer",
            (chunked(CUT, end=False), HANG),
            "failed",
            "went silent",
            "Half a sen",
        ),
        (
            "closed within a chunk",
            (chunked(CUT, end=False), b"40\r\nda", CLOSE),
            "failed",
            "broke before the answer",
            "Half",
        ),
        ("closed after the finish reason", (chunked(WHOLE, end=False), CLOSE), "completed", "", "Hello."),
        ("silence after [DONE]", (chunked(WHOLE, end=False), HANG), "completed", "", "Hello."),
        ("every byte in a packet of its own", (Drip(chunked(WHOLE)),), "completed", "", "Hello."),
        ("the answer in two packets, late", (GOOD[:200], 0.1, GOOD[200:]), "completed", "", "All well."),
        ("a call cut off", (chunked(CALL, CALL[:40], end=False), CLOSE), "retried", "withdrawn", ""),
    ]
    return [Fault("transport", *row) for row in rows]


def _framing() -> list[Fault]:
    head = http(b"", "Transfer-Encoding: chunked", length=None)
    rows: list[tuple[str, tuple[Step, ...], Ending, str, str]] = [
        (
            "a chunk size that is no number",
            (head + b"zz\r\n", WHOLE, CLOSE),
            "failed",
            "does not speak HTTP",
            "",
        ),
        ("a negative chunk size", (head + b"-5\r\n", WHOLE, CLOSE), "failed", "does not speak HTTP", ""),
        ("a chunk longer than its size", (head + b"3\r\ndata: x\r\n", CLOSE), "failed", "does not speak", ""),
        (
            "bad chunking within the answer",
            (chunked(CUT, end=False), b"xyz\r\n", CLOSE),
            "failed",
            "broke before the answer",
            "Half",
        ),
        (
            "chunk extensions",
            (head + b"%x;a=b\r\n%b\r\n0\r\n\r\n" % (len(WHOLE), WHOLE),),
            "completed",
            "",
            "Hello.",
        ),
        ("HTTP/1.0 that closes", (http(WHOLE, version="1.0", length=None), CLOSE), "completed", "", "Hello."),
        (
            "HTTP/1.0 cut",
            (http(CUT, version="1.0", length=None), CLOSE),
            "failed",
            "without a finish reason",
            "Half a sen",
        ),
        (
            "a body shorter than its length",
            (http(CUT, length=5000), CLOSE),
            "failed",
            "broke before the answer",
            "Half a sen",
        ),
        ("a body with its length", (http(WHOLE),), "completed", "", "Hello."),
        ("two lengths", (http(WHOLE, "Content-Length: 7"), CLOSE), "failed", "does not speak", ""),
        (
            "an interim answer first",
            (b"HTTP/1.1 100 Continue\r\n\r\n", http(WHOLE)),
            "completed",
            "",
            "Hello.",
        ),
        (
            "a header of a megabyte",
            (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2**20, HANG),
            "failed",
            "does not speak",
            "",
        ),
        (
            "endless headers",
            (b"HTTP/1.1 200 OK\r\n", Endless(b"X-Y: z\r\n" * 1000)),
            "failed",
            "does not speak",
            "",
        ),
        ("not HTTP", (b"SSH-2.0-OpenSSH_9.6\r\n", CLOSE), "failed", "does not speak", ""),
        ("binary noise", (bytes(range(256)) * 4, CLOSE), "failed", "does not speak HTTP", ""),
        ("a gzip answer", (http(gzip.compress(WHOLE), "Content-Encoding: gzip"),), "completed", "", "Hello."),
        (
            "a deflate answer",
            (http(zlib.compress(WHOLE), "Content-Encoding: deflate"),),
            "completed",
            "",
            "Hello.",
        ),
        (
            "broken gzip",
            (http(b"\x1f\x8b" + b"junk" * 9, "Content-Encoding: gzip"),),
            "failed",
            "compressed",
            "",
        ),
        ("a gzip bomb", (http(BOMB, "Content-Encoding: gzip"),), "failed", "more than 16", ""),
    ]
    return [Fault("http", *row) for row in rows]


def _statuses() -> list[Fault]:
    page = b"<html><head><title>502 Bad Gateway</title></head></html>"
    said = b'{"error": {"message": "the server says why", "type": "t"}}'
    plain = "text/plain"
    as_json = "application/json"
    soon = formatdate(time() + 1, usegmt=True)
    rows: list[tuple[str, tuple[Step, ...], Ending, str]] = [
        ("204", (http(status="204 No Content", length=None, content_type=None),), "failed", "status 204"),
        (
            "301",
            (http(b"", "Location: http://elsewhere.invalid/", status="301 Moved"),),
            "failed",
            "redirect",
        ),
        (
            "302 to itself",
            (http(b"", "Location: /v1/chat/completions", status="302 Found"),),
            "failed",
            "redirect",
        ),
        ("307 with a body", (http(said, "Location: //x", status="307 Temporary"),), "failed", "redirect"),
        ("304", (http(status="304 Not Modified", length=None),), "failed", "redirect"),
        ("400 with words", (http(said, status="400 Bad", content_type=as_json),), "failed", "says why"),
        (
            "400 with an HTML page",
            (http(page, status="400 Bad", content_type="text/html"),),
            "failed",
            "502 Bad Gateway",
        ),
        (
            "401 that repeats the key",
            (http(f'{{"error": "bad key {SECRET}"}}'.encode(), status="401 No"),),
            "failed",
            "(key)",
        ),
        ("403 with nothing", (http(b"", status="403 No"),), "failed", "status 403"),
        ("404 with words", (http(b"not here", status="404 No", content_type=plain),), "failed", "base_url"),
        ("413", (http(b"too big", status="413 Large", content_type=plain),), "failed", "too big"),
        (
            "422 with a list",
            (http(b'{"detail": [{"msg": "field required"}]}', status="422 No"),),
            "failed",
            "field required",
        ),
        ("408", (http(b"", status="408 Timeout"),), "retried", ""),
        ("409", (http(said, status="409 Conflict"),), "retried", ""),
        ("425", (http(b"", status="425 Early"),), "retried", ""),
        ("429 for a second", (http(said, "Retry-After: 1", status="429 Slow"),), "retried", ""),
        ("429 until a date", (http(said, f"Retry-After: {soon}", status="429 Slow"),), "retried", ""),
        ("429 for nonsense", (http(said, "Retry-After: soon", status="429 Slow"),), "retried", ""),
        ("429 for a day", (http(said, "Retry-After: 86400", status="429 Slow"),), "failed", "says why"),
        ("500 with nothing", (http(b"", status="500 Oops"),), "retried", ""),
        (
            "500 with odd JSON",
            (http(b'[[{"error": null}]]', status="500 Oops", content_type=as_json),),
            "retried",
            "",
        ),
        ("502 page", (http(page, status="502 Bad", content_type="text/html"),), "retried", ""),
        ("503 cut", (http(said, status="503 Busy", length=5000), CLOSE), "retried", ""),
        ("504", (http(b"", status="504 Late"),), "retried", ""),
        ("529", (http(said, status="529 Overloaded"),), "retried", ""),
        (
            "an error body without end",
            (http(b"", status="400 Bad", length=None), Endless(b"why " * 4000)),
            "failed",
            "why why why",
        ),
        (
            "an error body of escapes",
            (http(b"\x1b]0;owned\x07\x1b[2Jbad", status="400 Bad"),),
            "failed",
            "bad",
        ),
    ]
    return [Fault("http", *row) for row in rows]


FAULTS: Final = (*tls_faults(), *_transport(), *_framing(), *_statuses(), *stream_faults())
