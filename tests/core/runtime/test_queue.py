"""What is said to an agent that works: queued, taken back, sent now, or kept by a stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent_tui_core.runtime.entries import UserEntry
from agent_tui_core.runtime.session import Session, open_session
from loopback import DONE, HANG, Answer, LoopbackServer, finish, say, text
from sessions import Reader, planned, settled

HANGS = Answer(text("so far"), HANG)
"""Streams until it is stopped."""


class Talk:
    """One agent that was said something, and streams."""

    def __init__(self, session: Session, server: LoopbackServer) -> None:
        self.session, self.server = session, server
        self.worker = session.workers[0]
        self._reader = Reader(self.worker)

    async def streams(self) -> None:
        await self._reader.until(lambda t: t.state == "streaming")

    def queued(self) -> tuple[str, ...]:
        return tuple(prompt.text for prompt in self.worker.queue)

    def unqueue(self, index: int) -> str | None:
        return self.worker.unqueue(self.worker.queue[index].id)

    async def said(self) -> list[str]:
        """Every prompt of the conversation, once nothing is left to send."""
        await self._reader.until(lambda t: t.state == "idle" and not t.queue)
        await settled(self.session)
        return [entry.text for entry in self._reader.read().entries if isinstance(entry, UserEntry)]


@asynccontextmanager
async def _talk(folder: Path, *answers: Answer, says: Sequence[str] = ("first",)) -> AsyncIterator[Talk]:
    async with (
        LoopbackServer(list(answers)) as server,
        open_session(planned(server.base_url, folder)) as session,
    ):
        talk = Talk(session, server)
        for words in says:
            talk.worker.prompt(words)
        await talk.streams()
        yield talk


async def test_what_is_typed_while_an_agent_works_is_queued_and_sent_in_order(tmp_path: Path) -> None:
    release = asyncio.Event()
    answers = Answer(text("one"), release, finish(), DONE), say("two"), say("three")
    async with _talk(tmp_path, *answers, says=("first", "second", "third", "fourth")) as talk:
        assert talk.queued() == ("second", "third", "fourth")
        assert talk.unqueue(-1) == "fourth"
        release.set()
        assert await talk.said() == ["first", "second", "third"]


async def test_an_interrupt_keeps_the_queue_and_sending_now_goes_on_with_it(tmp_path: Path) -> None:
    async with _talk(tmp_path, HANGS, HANGS, say("three"), say("four")) as talk:
        talk.worker.prompt("later")
        talk.worker.interrupt()
        await settled(talk.session)
        assert talk.queued() == ("later",)
        talk.worker.prompt("second")
        await talk.streams()
        talk.worker.prompt_now("instead")
        assert await talk.said() == ["first", "second", "instead", "later"]


async def test_what_is_said_while_a_run_stops_is_sent_when_it_has_before_what_was_queued(
    tmp_path: Path,
) -> None:
    async with _talk(tmp_path, HANGS, say("two"), say("three"), say("four")) as talk:
        talk.worker.prompt("fourth")
        talk.worker.interrupt()
        talk.worker.prompt("second")
        talk.worker.prompt("fifth")
        assert talk.queued() == ("second", "fourth", "fifth")
        talk.unqueue(-1)
        assert await talk.said() == ["first", "second", "fourth"]


async def test_a_second_stop_or_taking_it_back_keeps_it_from_being_sent(tmp_path: Path) -> None:
    async with _talk(tmp_path, HANGS, HANGS) as talk:
        talk.worker.prompt("later")
        talk.worker.interrupt()
        talk.worker.prompt("instead")
        assert talk.unqueue(0) == "instead"
        await settled(talk.session)
        assert talk.queued() == ("later",)
        talk.worker.go_on()
        await talk.streams()
        talk.worker.interrupt()
        talk.worker.prompt("instead")
        talk.worker.interrupt()
        await settled(talk.session)
        assert talk.queued() == ("instead",)
        assert len(talk.server.requests) == 2
