"""`tidegate top` on a terminal: it draws, and Ctrl-C ends it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import SHELLS

DEADLINE_S = 60


@pytest.mark.parametrize("shell", SHELLS)
def test_it_draws_and_ends_with_ctrl_c(sample: Path, shell: str) -> None:
    ours, theirs = pty.openpty()
    top = [sys.executable, "-m", "tidegate.cli.main", "top", "--ledger", str(sample)]
    command = [*SHELLS[shell], *top]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "150", "LINES": "40"}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        drawn, deadline = b"", time.monotonic() + DEADLINE_S
        while b"ExceedsMaxQuota" not in drawn or b"WorkloadAdmitted" not in drawn:
            assert time.monotonic() < deadline, drawn
            if select.select([ours], [], [], 0.2)[0]:
                drawn += os.read(ours, 65_536)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 0
    os.close(ours)
