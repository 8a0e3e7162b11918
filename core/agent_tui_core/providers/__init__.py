"""Owns the ways to a model; refuses httpx's command line, which would bring click and rich into core.

httpx imports it with itself, at about half of the cost of its import, unless that import fails.
"""

import sys

if "httpx" not in sys.modules:
    sys.modules["httpx._main"] = None  # type: ignore[assignment]  # documented: makes the import fail
