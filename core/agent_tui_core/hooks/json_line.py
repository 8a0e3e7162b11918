"""Owns how hooks are told something: one object as one line of JSON; refuses to know what is in it.

Written as the programs do that such hooks were made for: no blanks between, every letter as itself. Many are
shell scripts that look for `"role":"assistant"` with grep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def json_line(value: Mapping[str, Any]) -> bytes:
    """The line, in UTF-8. A half of a surrogate pair, which UTF-8 does not have, is spelt as an escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode(errors="backslashreplace") + b"\n"
