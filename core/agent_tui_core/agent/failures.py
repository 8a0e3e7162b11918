"""Owns what a person reads of a request that failed for good: what happened, and the next step."""

from __future__ import annotations

from agent_tui_core.agent.requesting import LONGEST_RETRY_AFTER
from agent_tui_core.errors import (
    BadRequest,
    ContextExceeded,
    ProviderError,
    ProviderRefused,
    ProviderUnreachable,
    StreamStalled,
    StreamTruncated,
    Unauthorized,
)


def failure_words(error: ProviderError, key_name: str | None) -> str:
    """The error in its own words, and what helps. `key_name` is the variable of the key; None: there is none.

    An empty name is a key that came from elsewhere.
    """
    step = _next_step(error, key_name)
    words = str(error)
    return f"{words}{'' if words.endswith(('.', '?', '!')) else '.'} {step}" if step else words


def _next_step(error: ProviderError, key_name: str | None) -> str:
    again = f"Tried {error.attempts} times. " if error.attempts > 1 else ""
    match error:
        case Unauthorized():
            return _key_step(key_name, error.status)
        case ContextExceeded():
            return "Shorten the prompt, or set context_limit in the profile: then room is made in time."
        case BadRequest():
            return "The same request would be refused again: change the prompt, the model or its settings."
        case ProviderRefused(retry_after=asked) if asked is not None and asked > LONGEST_RETRY_AFTER:
            longest = span(LONGEST_RETRY_AFTER)
            return (
                f"It asked to wait {span(asked)}; more than {longest} is not waited for: send it again then."
            )
        case ProviderRefused(retry_after=asked) if error.retryable:
            wait = "" if asked is None else f"It asked to wait {span(asked)}. "
            return f"{wait}{again}Send the prompt again in a while."
        case ProviderUnreachable():
            return again.rstrip()
        case StreamStalled():
            return "Set progress_timeout higher where the model needs longer, or to 0 to wait for ever."
        case StreamTruncated():
            return "What came so far is kept: send a prompt to go on."
        case _:
            return again.rstrip()


def _key_step(key_name: str | None, status: int | None) -> str:
    if key_name is None:
        return "No key was sent: name its environment variable in api_key_env of the provider."
    name = key_name or "The key"
    if status == 403:
        return f"{name} may not do this: use a key that may, or another model."
    return f"{name} was refused: set it to a key of this server, and start again."


def span(seconds: float) -> str:
    """`25 s`, `2 min`, `1 h 5 min`: a wait in words."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(-(-whole // 60), 60)
    return " ".join(
        part for part in (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "") if part
    )
