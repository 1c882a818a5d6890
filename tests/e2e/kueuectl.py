"""Kueue's own command line, built from its Go module into the user's cache folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kueue_module import KueueModule


@pytest.fixture(scope="session")
def kueuectl() -> Path:
    """Return the program; skip where Go or the module is not to be had."""
    return KueueModule("v0.16.1").program("kueuectl", "kubectl-kueue")
