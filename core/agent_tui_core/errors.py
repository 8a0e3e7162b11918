"""Owns the tree of errors and the words each one shows a person; refuses to know where one is handled.

AgentTuiError
├─ ConfigError (file, key)          to the person, before the app starts; exit code 2
├─ ProviderError                    ends the run, shown in the pane, the agent stays usable
│  ├─ ProviderUnreachable           no connection, or it broke before the first byte
│  ├─ ProviderRefused (status, body)
│  │  ├─ Unauthorized · RateLimited (retry_after) · Overloaded (retry_after) · BadRequest
│  │  │                                                                         └─ ContextExceeded
│  ├─ StreamTruncated               bytes stopped before the message did
│  ├─ StreamStalled                 bytes came, but for too long nothing that says anything
│  └─ StreamMalformed               bytes that are no stream of this protocol
├─ PromptBlocked                    a UserPromptSubmit hook said no; the prompt goes back to its writer
├─ ToolError                        becomes ToolResult(is_error=True): the model sees it, the run goes on
├─ HookError                        becomes a Deny with its reason
└─ HistoryError                     the run stops before it acts
"""

from __future__ import annotations

from typing import TypeVar

_E = TypeVar("_E", bound=BaseException)


class AgentTuiError(Exception):
    """Anything that agent-tui itself reports; `str(error)` is a sentence for a person."""


class ConfigError(AgentTuiError):
    """A setting that cannot be used; names the file, the key and the remedy."""

    def __init__(self, message: str, *, file: str | None = None, key: str | None = None) -> None:
        where = ": ".join(part for part in (file, key) if part)
        super().__init__(f"{where}: {message}" if where else message)
        self.file = file
        self.key = key


class ProviderError(AgentTuiError):
    """The model's server did not give an answer. `retryable` says whether asking again can help."""

    retryable = False
    attempts = 1
    """How often the request was made before this was told."""


class ProviderUnreachable(ProviderError):
    """No connection, or one that broke before the first byte of the answer."""

    retryable = True


class ProviderRefused(ProviderError):
    """The server answered with an error status, or with an error in the place of an answer."""

    def __init__(
        self, message: str, *, status: int | None = None, body: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.retry_after = retry_after
        """Seconds that the server asked us to wait, if it did."""


class Unauthorized(ProviderRefused):
    """401 or 403: the key is missing, wrong, or not allowed to use this model."""


class RateLimited(ProviderRefused):
    """429: too many requests or tokens; `retry_after` in seconds when the server said so."""

    retryable = True


class Overloaded(ProviderRefused):
    """408, 409, 425 or 5xx: the server could not answer now."""

    retryable = True


class BadRequest(ProviderRefused):
    """The request itself was refused (another 4xx): asking again gives the same answer."""


class ContextExceeded(BadRequest):
    """The conversation is longer than the model can read: it has to be made shorter first."""


class StreamTruncated(ProviderError):
    """The bytes stopped before the message did: no finish reason and no end mark was seen."""

    retryable = True


class StreamStalled(ProviderError):
    """No text, call or usage came for as long as the person allows: bytes alone are no progress."""


class StreamMalformed(ProviderError):
    """Bytes that are no stream of the protocol that was expected."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        """`retryable` is for a slip within such a stream: another protocol is the same the next time."""
        super().__init__(message)
        self.retryable = retryable


class PromptBlocked(AgentTuiError):
    """A UserPromptSubmit hook refused the prompt; nothing was sent and nothing was stored."""


class ToolError(AgentTuiError):
    """A tool could not do its work; the model reads the message as an error result."""


class HookError(AgentTuiError):
    """A hook crashed, hung or answered nonsense; the call it was asked about is denied."""


class HistoryError(AgentTuiError):
    """The history file could not be read or written; the run stops before it acts."""


def without_frames(error: _E) -> _E:
    """The same error, to be kept. The frames that it went through hold all that its run sent and read.

    Its causes lose theirs too, up to the first that has none: causes may form a circle.
    """
    each: BaseException | None = error
    while each is not None and each.__traceback__ is not None:
        each.__traceback__ = None
        each = each.__cause__ or each.__context__
    return error
