"""Owns the names of the modes that an agent can be in; refuses to judge by them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

Mode: TypeAlias = Literal["ask", "accept-edits", "plan", "auto"]
"""What happens to calls that no deny or ask rule meets: the allow rules decide; edits in the workspace are
allowed too; only what reads is allowed, the rest denied; commands in the sandbox and files in the workspace
are allowed, and the allow rules decide on all else. Without a sandbox "auto" is "ask"."""

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
