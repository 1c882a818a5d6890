"""`tidegate top`: it draws on a terminal, Ctrl-C ends it, and no workload is left out."""

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
from rich.console import Console

from tests.cli.conftest import SHELLS
from tests.replay.world import World
from tidegate.cli.live.top_view import top_frame
from tidegate.model.policy import Policy
from tidegate.replay.rebuild import rebuild

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


def test_a_workload_that_waits_for_no_cluster_queue_is_listed() -> None:
    world = World().open(Policy())
    world.turn(world.wait(1), world.submit("nowhere", 1, 0), world.submit("c", 9, 0))
    state = rebuild(world.entries)[0]
    [lost] = [each.key for each in state.workloads.values() if each.local_queue == "team/nowhere"]
    for subject, listed in (("", True), ("c", False)):
        console = Console(width=200)
        with console.capture() as drawn:
            console.print(top_frame([state], (), subject))
        assert any(line.startswith(f"{lost}  -  ") for line in drawn.get().splitlines()) == listed
