"""Where what is built once is kept for every instance of this user."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the user's cache folder of Tidegate; it may not exist yet."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "tidegate"
