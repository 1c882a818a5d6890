"""Children are started, restarted when they die, and stopped; real processes, no stand-ins."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tidegate.cluster.supervisor import Program, Supervisor

ENDLESS = "import signal, sys, time; print('up', flush=True)\nwhile True: time.sleep(1)"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ENDLESS


def program(tmp_path: Path, code: str) -> Program:
    log = tmp_path / "child.log"
    return Program(name="child", command=[sys.executable, "-c", code], environment={}, log=log)


async def wait_for_lines(log: Path, count: int) -> None:
    async with asyncio.timeout(60):
        while not log.exists() or log.read_text().count("up") < count:
            await asyncio.sleep(0.02)


async def test_a_child_that_is_killed_is_started_again(tmp_path: Path) -> None:
    names: list[str] = []
    supervisor, child = Supervisor(names.append), program(tmp_path, ENDLESS)
    await supervisor.start(child)
    await wait_for_lines(child.log, 1)
    first = supervisor.pid("child")
    os.kill(first, signal.SIGKILL)
    await wait_for_lines(child.log, 2)
    assert supervisor.pid("child") != first
    assert supervisor.restarts == {"child": 1}
    assert "SIGKILL" in names[0]
    await supervisor.stop()


async def test_stopping_leaves_nothing_running_and_restarts_nothing(tmp_path: Path) -> None:
    names: list[str] = []
    supervisor, child = Supervisor(names.append), program(tmp_path, ENDLESS)
    await supervisor.start(child)
    await wait_for_lines(child.log, 1)
    await supervisor.stop()
    assert not Path(f"/proc/{supervisor.pid('child')}").exists()
    assert (names, supervisor.restarts) == ([], {"child": 0})


async def test_a_program_that_does_not_drain_is_killed_and_named(tmp_path: Path) -> None:
    names: list[str] = []
    supervisor, child = Supervisor(names.append, patience_s=0.1), program(tmp_path, STUBBORN)
    await supervisor.start(child)
    await wait_for_lines(child.log, 1)
    await supervisor.stop()
    assert not Path(f"/proc/{supervisor.pid('child')}").exists()
    assert "did not drain" in names[0]
