"""Ends a command that runs until Ctrl-C, in a terminal or in a pipe."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def until_interrupted() -> Generator[None]:
    """Run a block until SIGINT, which ends it without an error.

    A shell starts what it runs in the background with SIGINT ignored, and Python then installs no
    handler of its own: without this such a command would never end.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGINT, before)
