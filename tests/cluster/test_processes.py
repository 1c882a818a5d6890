"""Processes are known by pid and start time, and nothing else is signalled."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from tidegate.cluster.go.components import component_environment
from tidegate.cluster.processes import Process, is_alive, last_lines, spawn, stop

ENDLESS = (sys.executable, "-c", "import time\nprint('up', flush=True)\ntime.sleep(600)")
DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
STUBBORN = (sys.executable, "-c", f"{DEAF}print('up', flush=True)\ntime.sleep(600)")


def started(command: tuple[str, ...], tmp_path: Path) -> Process:
    process = spawn("child", command, tmp_path / "logs" / "child.log")
    while "up" not in last_lines(process):
        assert is_alive(process)
    return process


@pytest.mark.parametrize("command", [ENDLESS, STUBBORN], ids=["endless", "stubborn"])
def test_what_was_started_can_be_stopped(command: tuple[str, ...], tmp_path: Path) -> None:
    process = started(command, tmp_path)
    stop(process, patience_s=0.3)
    assert not is_alive(process)


def test_a_process_has_the_environment_that_it_is_given(tmp_path: Path) -> None:
    tells = "import os\nprint('up', os.environ.get('GOGC'), flush=True)"
    command = (sys.executable, "-c", f"{tells}\nimport time\ntime.sleep(600)")
    process = spawn(
        "child", command, tmp_path / "child.log", component_environment("kube-apiserver", {})
    )
    while "up" not in last_lines(process):
        assert is_alive(process)
    stop(process)
    assert last_lines(process) == "up 400"


def test_only_the_api_server_collects_lazily_unless_configured_otherwise() -> None:
    given = {"GOGC": "50", "GOMEMLIMIT": "1GiB", "HOME": "/home"}
    assert component_environment("kube-apiserver", given) == given
    assert component_environment("etcd", {"HOME": "/home"}) == {"HOME": "/home"}


def test_a_process_of_another_start_is_left_alone(tmp_path: Path) -> None:
    process = started(ENDLESS, tmp_path)
    other = msgspec.structs.replace(process, started=process.started + 1)
    assert not is_alive(other)
    stop(other)
    assert is_alive(process)
    stop(process)


def test_a_process_that_ended_is_not_alive(tmp_path: Path) -> None:
    process = started(ENDLESS, tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    while is_alive(process):
        pass
    stop(process)


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        spawn("child", ("/nowhere/at/all",), tmp_path / "child.log")


LEADERLESS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_of_which_a_thread_is_left_is_not_gone(tmp_path: Path) -> None:
    process = spawn("a", [sys.executable, "-c", LEADERLESS], tmp_path / "log")
    status = Path(f"/proc/{process.pid}/stat")
    while status.read_text().rpartition(")")[2].split()[0] != "Z":
        assert is_alive(process)
    assert is_alive(process)
    stop(process)
    assert not is_alive(process)
