"""Owns the door: `agent-tui` and `python -m agent_tui`; refuses to know an option.

Collecting garbage is off until the first frame: what start-up imports and builds stays for good anyway.
"""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run the program with the arguments of this process; return its exit code."""
    gc.disable()
    from agent_tui.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
