"""Where an instance keeps its state, and where what is built once is kept for all of them."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the instance's folder: TIDEGATE_STATE, else one in the user's state folder."""
    named = os.environ.get("TIDEGATE_STATE")
    return Path(named) if named else _user_folder("XDG_STATE_HOME", ".local/state") / "tidegate"


def cache_folder() -> Path:
    """Return the user's cache folder of Tidegate."""
    return _user_folder("XDG_CACHE_HOME", ".cache") / "tidegate"


def _user_folder(variable: str, below_home: str) -> Path:
    named = os.environ.get(variable)
    return Path(named) if named else Path.home() / below_home
