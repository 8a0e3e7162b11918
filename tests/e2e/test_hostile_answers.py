"""The real program against a server, a folder and files that mean harm: their strings stay text, everywhere.

Also for the commands that only print, which write to a terminal here.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hostile_strings import HOSTILE, numbered
from loopback import (
    DONE,
    Answer,
    LoopbackServer,
    Request,
    finish,
    json_answer,
    reasoning,
    say,
    sse,
    text,
    tool_call,
    usage,
)
from pty_program import PtyProgram, pty_program, terminal_environment
from terminal_bytes import plain_trespasses, trespasses

ROWS, COLUMNS = 70, 130
ALL = numbered()
LINES = "\n".join(ALL)
LAST = f"K{len(ALL) - 1:03}("
MODEL = "[@click=app.quit]K999([/][bold"
RAW = b"raw \x9b5m \x9d0;owned\x9c \xff\xfe \xc3\x28 \x1b[5m \x90q\x9c end of raw\n"


def _environment(folder: Path, **more: str) -> dict[str, str]:
    return terminal_environment(folder, COLORTERM="truecolor", **more)


def _hostile_folder(folder: Path) -> Path:
    """A workspace whose name, branch, files and settings are all hostile."""
    workspace = folder / "w\x1b]2;owned\x07\x9b5m\u202e[bold]\x08"
    (workspace / ".git").mkdir(parents=True)
    (workspace / ".git" / "HEAD").write_text(f"ref: refs/heads/{ALL[33]}\n", errors="replace")
    (workspace / "lines.txt").write_text(LINES.replace("\0", ""), errors="replace")
    (workspace / "raw.txt").write_bytes(RAW + LINES.encode("utf-8", "surrogatepass"))
    (workspace / ".agent-tui").mkdir()
    hooks = "".join(
        f"[[hooks.PreToolUse]]\ncommand = {_toml(line)}\n"
        for line in ALL
        if len(line) < 500 and "\0" not in line
    )
    (workspace / ".agent-tui" / "settings.toml").write_text(hooks)
    (workspace / "AGENTS.md").write_text(LINES, errors="replace")
    return workspace


def _toml(said: str) -> str:
    """A string of TOML, with all but plain characters spelt out, and without halves of pairs."""
    words = said.encode("utf-8", "replace").decode()
    return '"' + "".join(c if c.isalnum() and c.isascii() else f"\\U{ord(c):08x}" for c in words) + '"'


def _script(request: Request) -> Answer:
    """Answers by the last word that the person said; after tools it ends."""
    if request.method == "GET":
        return json_answer({"data": [{"id": f"model {ALL[30]}"}, {"id": MODEL}]})
    messages: list[dict[str, Any]] = request.json["messages"]
    wanted = next(str(said["content"]) for said in reversed(messages) if said["role"] == "user").split()[-1]
    if messages[-1]["role"] == "tool":
        return say(f"ended {wanted}.")
    if wanted in _CALLS:
        calls = [tool_call(f"c{n}", *call, index=n) for n, call in enumerate(_CALLS[wanted])]
        return Answer(*calls, finish("tool_calls"), usage(10, 5), DONE)
    match wanted:
        case "words":
            pieces = [LINES[at : at + 7] for at in range(0, len(LINES), 7)]
            return Answer(*map(text, pieces), text("\n\nthose were words"), finish(), DONE)
        case "thoughts":
            return Answer(*(reasoning(f"{line}\n\n") for line in ALL), text("thought enough"), finish(), DONE)
        case "refusal":
            return json_answer({"error": {"message": f"refused {LINES}", "code": ALL[3]}}, status=400)
        case "page":
            page = f"<html><title>{ALL[5]}</title>page {LINES}".encode("utf-8", "replace")
            return Answer(page, status=403, content_type="text/html")
        case "broken":
            return Answer(text("half"), sse({"error": {"message": f"broken {LINES}", "type": ALL[9]}}))
        case _:
            return say("nothing of that kind")


_CALLS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "names": [(line, {line: line}) for line in ALL],
    "files": [("Read", {"file_path": line}) for line in ALL],
    "lines": [("Read", {"file_path": "lines.txt"})],
    "output": [("Bash", {"command": "cat raw.txt"})],
    "command": [("Bash", {"command": f"echo {LINES}"})],
    "diff": [("Write", {"file_path": ALL[60], "content": LINES.replace("\0", "")})],
}


async def _quit(program: PtyProgram) -> None:
    mark = await program.press("\x1bOP")
    await program.until("How it works", since=mark)
    mark = await program.press("q")
    await program.until("K0", since=mark)
    await program.press("\x11")
    assert await program.end() == 0


async def _ask(program: PtyProgram, word: str, *shown: str) -> int:
    mark = await program.press(f"please {word}\r")
    await program.until(*shown, since=mark)
    return mark


@pytest.mark.timeout(500)
async def test_nothing_that_a_server_a_folder_or_a_file_says_is_more_than_text(tmp_path: Path) -> None:
    workspace = _hostile_folder(tmp_path)
    async with LoopbackServer(_script) as server:
        environment = _environment(tmp_path, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="k")
        argv = [sys.executable, "-m", "agent_tui", "-C", str(workspace)]
        async with pty_program(argv, environment, tmp_path, rows=ROWS, columns=COLUMNS) as program:
            await program.until("Trust it?", "K000(")
            await program.until("Press a key to answer")
            mark = await program.press("n")
            await program.until("Nothing asked yet", MODEL[:17], since=mark)
            await _ask(program, "words", "those were words")
            await _ask(program, "thoughts", "thought enough")
            await _ask(program, "names", LAST, "ended names.")
            await _ask(program, "files", LAST, "ended files.")
            await _ask(program, "lines", "K000(", "ended lines.")
            await _ask(program, "output", "end of raw", "ended output.")
            for word in ("command", "diff"):
                mark = await _ask(program, word, "asks: may")
                begun = mark + program.since(mark).index("asks: may")
                await program.until("Press a key to answer", since=begun)
                await program.until(LAST, since=await program.press("\x1b[F"))
                mark = await program.press("n")
                await program.until(f"ended {word}.", since=mark)
            await _ask(program, "refusal", "failed", "K050(")
            await _ask(program, "page", "failed")
            await _ask(program, "broken", "failed", "K050(")
            await program.draws(await program.press("\x1bOR"))
            mark = await program.press("\x1b[18~")
            await program.until("Tools, rules and trust", since=mark)
            mark = await program.press("q")
            await program.until("K0", since=mark)
            await _quit(program)
            found = trespasses(
                bytes(program.output).rpartition(b"\x1b[?1049l")[0], rows=ROWS, columns=COLUMNS
            )
            assert not found, found[:20]
            assert b"owned\x07" not in program.output
    log = (tmp_path / "data" / "agent-tui.log").read_text()
    assert "Traceback" not in log
    assert plain_trespasses(log.replace("\n", "").encode()) == []
    with closing(sqlite3.connect(tmp_path / "data" / "history.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    await _commands_print_nothing_else(tmp_path, workspace)


async def _commands_print_nothing_else(folder: Path, workspace: Path) -> None:
    """What was kept, listed and written out on a terminal; and what commands say of hostile arguments."""
    bad = "K001(\x1b[5m\x1b]52;c;AAAA\x07\x9b5m\r\x08\u202e[bold])"
    commands: list[tuple[list[str], str]] = [
        (["sessions"], "please words"),
        (["export", "newest"], LAST),
        (["export", "newest", "--format", "jsonl"], "K090("),
        (["export", bad], "no id of a session"),
        (["doctor", "-C", str(workspace)], "Program"),
        (["rules", "test", "Bash", bad, "-C", str(workspace)], "ask"),
        (["rules", "test", bad, bad], "K001("),
        (["rules", "add", "--allow", bad], ""),
        (["rules"], ""),
        (["--resume", bad], ""),
        (["--theme", bad, "--config", bad], "K001("),
        (["--" + bad], ""),
        (["-C", bad], "K001("),
    ]
    for arguments, shown in commands:
        argv = [sys.executable, "-m", "agent_tui", *arguments]
        async with pty_program(argv, _environment(folder), folder) as program:
            assert await program.end() in {0, 1, 2}, arguments
            written = bytes(program.output)
        assert b"Traceback" not in written, (arguments, written[-2000:])
        found = plain_trespasses(written)
        assert not found, (arguments, found[:10])
        assert shown.encode() in written, (arguments, written[:2000])


def test_the_hostile_strings_are_as_many_as_was_promised() -> None:
    assert len(HOSTILE) >= 60
    assert asyncio.iscoroutinefunction(_ask)
