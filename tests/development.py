"""Owns what our programs inherit of `make devmode`: development mode, and each warning as an error.

Refuses to choose it: in any other run there is nothing to inherit.
"""

from __future__ import annotations

import os
from typing import Final

DEVELOPMENT: Final = {
    name: os.environ[name] for name in ("PYTHONDEVMODE", "PYTHONWARNINGS") if name in os.environ
}
