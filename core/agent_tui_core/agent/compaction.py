"""Owns making room: when a conversation outgrows its model, a summary stands for its oldest part in requests.

Refuses to forget: messages stay in history and in the pane, and a compaction can be undone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

from agent_tui_core.agent.context import CHARACTERS_PER_TOKEN, as_text, estimate, first_kept
from agent_tui_core.agent.conversation import Conversation
from agent_tui_core.agent.journal import Journal
from agent_tui_core.blocks import Text
from agent_tui_core.errors import ProviderError
from agent_tui_core.events import Compacted, CompactionStarted, Noticed
from agent_tui_core.messages import Message, ModelRequest, Usage, new_id
from agent_tui_core.providers.base import ModelProvider
from agent_tui_core.records import dataclass
from agent_tui_core.wire.accumulator import Accumulator

FULL = 0.8
"""The part of the limit at which room is made before the next request."""
KEPT = 0.25
"""The part of the limit (or of what there is) that stays as it is: the newest messages."""
_INSTRUCTIONS = (
    "You condense the record of a conversation between a user and an agent that works with tools, so that "
    "the agent can go on from your summary alone. Keep: what the user wants and forbade; decisions and "
    "their reasons; files, names, commands and numbers that matter; what was done, what failed and why; "
    "what is still open. Leave out greetings and raw output. Write plain text, as short as that allows."
)


@dataclass(frozen=True, slots=True)
class Room:
    """What came of making room."""

    made: bool
    usage: Usage


class Compaction:
    """Makes room in one conversation."""

    def __init__(
        self,
        provider: ModelProvider,
        conversation: Conversation,
        journal: Journal,
        model: str,
        overhead: Callable[[], int],
    ) -> None:
        """`overhead` makes a guess of the tokens that every request has besides its messages."""
        self._provider = provider
        self._conversation = conversation
        self._journal = journal
        self._model = model
        self._overhead = overhead

    def is_due(self, limit: int | None) -> bool:
        """Whether the next request comes near the limit, in tokens; without a limit never."""
        return limit is not None and self._conversation.size(self._overhead()) >= FULL * limit

    async def make_room(self, limit: int | None) -> Room:
        """Summarise the oldest part and commit that; nothing is made when nothing can be cut or told."""
        overhead = self._overhead()
        before = self._conversation.size(overhead)
        messages = self._conversation.visible()
        room, guessed = min(before, limit or before) - overhead, estimate(messages)
        counts_for = guessed / max(before - overhead, guessed, 1)  # of a token, where a guess is too low
        cut = first_kept(messages, int(KEPT * max(room, 0) * counts_for))
        if cut == 0:
            return Room(False, Usage())
        self._journal.emit(CompactionStarted(before))
        allowed = int(FULL * (limit or before)) * CHARACTERS_PER_TOKEN // 2
        try:
            summary, usage = await self._summary(as_text(messages[:cut], allowed))
        except ProviderError as error:
            self._journal.emit(Noticed("warning", f"No room could be made: {error}"))
            return Room(False, Usage())
        after = overhead + estimate([Message("user", (Text(summary),)), *messages[cut:]])
        compacted = Compacted(new_id(), summary, messages[cut - 1].id, before, after)
        await self._journal.commit(compacted)
        self._conversation.compact(compacted)
        return Room(True, usage)

    async def _summary(self, record: str) -> tuple[str, Usage]:
        asked = Message("user", (Text(f"Condense this record:\n\n{record}"),))
        request = ModelRequest(self._model, [asked], system_prompt=_INSTRUCTIONS)
        reply = Accumulator()
        async with aclosing(self._provider.stream(request)) as events:
            async for event in events:
                reply.add(event)
        answer = reply.message()
        if reply.ended is None or answer is None or not answer.text.strip():
            raise ProviderError("the model gave no summary")
        return answer.text.strip(), reply.usage
