"""What a frame and a token may cost, counted and not timed: these hold on a busy machine too."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterable

import pytest
from rich.cells import cached_cell_len
from textual.app import App, ComposeResult
from textual.geometry import Region

from agent_tui.panes.markdown_blocks import Block
from agent_tui.panes.rendering import block_lines
from agent_tui.panes.scrolled_lines import ScrolledLines
from agent_tui.panes.transcript import TranscriptView
from agent_tui_core.blocks import Text
from agent_tui_core.events import Body, Event, TextDelta
from agent_tui_core.messages import Message, ModelRequest
from agent_tui_core.providers.http import http_client
from agent_tui_core.providers.openai import OpenAIProvider
from agent_tui_core.runtime.outbox import Outbox
from agent_tui_core.runtime.transcript import Transcript
from agent_tui_core.wire.accumulator import Accumulator
from agent_tui_core.wire.chat_stream import ChatStream
from agent_tui_core.wire.sse import SseParser
from fault_server import FaultServer, chunked
from loopback import DONE, chunk, finish, text

ASK = ModelRequest("m", (Message("user", (Text("hi"),)),))
PARAGRAPH = "Words of a **paragraph** with `code` in it, long enough to need a second row in a pane.\n\n"


class Stage(App[None]):
    def __init__(self, panes: int) -> None:
        super().__init__()
        self.transcripts = [Transcript() for _ in range(panes)]
        self.views = [TranscriptView(transcript) for transcript in self.transcripts]

    def compose(self) -> ComposeResult:
        yield from self.views


def say(transcript: Transcript, words: str) -> None:
    transcript.apply([Event("a", "r", 1, 0.0, TextDelta(words))])


async def test_a_flush_refreshes_each_pane_once_however_many_tokens_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refreshed: list[TranscriptView] = []
    refresh = ScrolledLines.refresh

    def counted(view: TranscriptView, *regions: Region, **options: bool) -> TranscriptView:
        refreshed.append(view)
        refresh(view, *regions, **options)
        return view

    app = Stage(4)
    async with app.run_test(size=(80, 48)) as pilot:
        await pilot.pause()
        monkeypatch.setattr(ScrolledLines, "refresh", counted)
        for transcript in app.transcripts[:3]:
            for number in range(200):
                say(transcript, f"token{number} ")
        for view in app.views:
            view.tick()
        assert sorted(map(id, refreshed)) == sorted(map(id, app.views[:3]))


async def test_a_pane_has_as_many_widgets_for_a_book_as_for_a_word() -> None:
    app = Stage(1)
    async with app.run_test(size=(80, 24)) as pilot:
        counts = []
        for words in ("word", PARAGRAPH * 50, PARAGRAPH * 2_000):
            say(app.transcripts[0], words)
            app.views[0].tick()
            await pilot.pause()
            counts.append(len(list(app.query("*"))))
        assert len(set(counts)) == 1


async def test_a_frame_makes_rows_only_of_what_changed() -> None:
    app = Stage(1)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        view = app.views[0]
        say(app.transcripts[0], PARAGRAPH * 500)
        while view.tick() or view.behind:
            pass
        before = [id(row) for row in view._rows]
        kept = list(view._rows)  # so that no row's place in memory is taken by another
        say(app.transcripts[0], "A last word.")
        view.tick()
        fresh = [row for row in view._rows if id(row) not in before]
        assert len(kept) == 24
        assert len(fresh) <= 4


def blocks_kept(tokens: int) -> int:
    """How many allocated blocks a stream leaves, from its bytes to a transcript that was read."""
    parser, stream, reply, outbox = SseParser(), ChatStream(), Accumulator(), Outbox("a")
    listener, transcript = outbox.subscribe(), Transcript()
    gc.collect()
    before = sys.getallocatedblocks()
    for number in range(tokens):
        for sent in parser.feed(text(f"token{number} ")):
            for event in stream.feed(sent):
                reply.add(event)
                body: Body = event
                outbox.append(body)
        transcript.apply(listener.take())
    gc.collect()
    return sys.getallocatedblocks() - before


def test_a_line_of_code_that_grows_leaves_no_drawing_of_what_it_was() -> None:
    before = _blocks_after_drawing(range(1000, 1010))
    assert _blocks_after_drawing(range(10, 1000, 2)) - before < 200


def _blocks_after_drawing(lengths: Iterable[int]) -> int:
    for length in lengths:
        block_lines(Block("code", "short = 1\n" + "x = " * length), 40, colored=False)
    cached_cell_len.cache_clear()
    gc.collect()
    return sys.getallocatedblocks()


def test_a_token_leaves_few_allocations_behind() -> None:
    blocks_kept(100)
    kept = blocks_kept(2_000)
    assert kept / 2_000 < 4, "a token's text may stay, in the answer and in the transcript; not its events"
    assert blocks_kept(8_000) / 8_000 < 4


async def test_a_stream_leaves_no_task_and_no_timer() -> None:
    words = chunked(*[text(f"{number} ") for number in range(100)], finish(), DONE)
    async with FaultServer() as server, http_client() as client, asyncio.timeout(20):
        server.play(words)
        tasks = asyncio.all_tasks()
        provider = OpenAIProvider(client, server.base_url)
        async for _ in provider.stream(ASK):
            pass
        loop = asyncio.get_running_loop()
        timers = [
            handle
            for handle in loop._scheduled  # type: ignore[attr-defined]
            if not handle.cancelled() and "agent_tui" in str(getattr(handle._callback, "__module__", ""))
        ]
        left = {task for task in asyncio.all_tasks() - tasks if "FaultServer" not in repr(task)}
        assert (timers, left) == ([], set())


def test_a_usual_chunk_is_not_read_key_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the patient way was taken")

    stream, parser = ChatStream(), SseParser()
    monkeypatch.setattr(ChatStream, "_read_chunk", never)
    sent = parser.feed(b"".join(chunk({"content": f"{number} "}) for number in range(50)))
    assert len([event for each in sent for event in stream.feed(each)]) == 50
