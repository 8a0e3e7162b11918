"""Owns what an agent is doing now, in a word: folds a run's events into a state; refuses to act on it."""

from __future__ import annotations

from agent_tui_core.events import (
    AgentState,
    ApprovalRequested,
    ApprovalSettled,
    Body,
    CompactionStarted,
    ReasoningDelta,
    RequestQueued,
    RequestRetrying,
    RequestStarted,
    RunEnded,
    RunStarted,
    StateChanged,
    TextDelta,
    ToolEnded,
    ToolProposed,
    ToolStarted,
    ToolUseDelta,
)

_NEXT = "for a place at its server, next in line"
_ENDS: dict[str, AgentState] = {
    "completed": "idle",
    "interrupted": "interrupted",
    "failed": "failed",
    "limit": "limit",
}


class Activity:
    """The state of one agent. A question that waits for a person outweighs a tool that runs."""

    def __init__(self) -> None:
        self.state: AgentState = "idle"
        self.detail = ""
        self.stopping = False
        """A person interrupted: only the end of the run changes the state."""
        self._names: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        self._running: dict[str, str] = {}

    def after(self, body: Body) -> StateChanged | None:
        """Fold one event; return the new state when it is another one."""
        match body:
            case TextDelta() | ReasoningDelta() | ToolUseDelta():
                if self.state == "streaming":
                    return None
                return self._to("streaming")
            case RunStarted():
                self._waiting.clear()
                self._running.clear()
                self._names.clear()
                return self._to("connecting")
            case RequestStarted(model, _):
                return self._to("connecting", model)
            case RequestQueued(None):
                return self._to("connecting")
            case RequestQueued(ahead):
                return self._to("queued", f"for a place at its server, {ahead} before it" if ahead else _NEXT)
            case CompactionStarted():
                return self._to("summarising")
            case RequestRetrying(attempt, attempts, delay, reason):
                return self._to("retrying", f"in {delay:.0f} s: {reason} ({attempt} of {attempts})")
            case RunEnded(end, reason):
                self.stopping = False
                return self._to(_ENDS[end], reason)
            case _:
                return self._after_call(body)

    def _after_call(self, body: Body) -> StateChanged | None:
        match body:
            case ToolProposed(key, call):
                self._names[key] = call.name
                return None
            case ApprovalRequested(key, request):
                self._waiting[request.id] = self._names.get(key, request.tool)
            case ApprovalSettled(request_id=request_id):
                self._waiting.pop(request_id, None)
            case ToolStarted(key, _):
                self._running[key] = self._names.get(key, "")
            case ToolEnded(key=key):
                self._running.pop(key, None)
            case _:
                return None
        if self._waiting:
            return self._to("waiting", ", ".join(self._waiting.values()))
        if self._running:
            return self._to("running", ", ".join(self._running.values()))
        return self._to("connecting") if self.state in {"waiting", "running"} else None

    def stop(self) -> StateChanged:
        """A person interrupted."""
        changed = self.become("stopping")
        self.stopping = True
        return changed

    def become(self, state: AgentState, detail: str = "") -> StateChanged:
        """Take on a state that no run's event tells."""
        self.stopping = False
        self.state, self.detail = state, detail
        return StateChanged(state, detail)

    def snapshot(self) -> StateChanged:
        """The state as an event, for who comes later."""
        return StateChanged(self.state, self.detail)

    def _to(self, state: AgentState, detail: str = "") -> StateChanged | None:
        if self.stopping or (state, detail) == (self.state, self.detail):
            return None
        self.state, self.detail = state, detail
        return StateChanged(state, detail)
