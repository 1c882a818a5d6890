"""A file that is locked for a process's life tells its successor which process is dead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tidegate.service.holder import LeaseHolder, lock_holder_file

LIVING = """
import sys
from tidegate.service.holder import lock_holder_file
with lock_holder_file(sys.argv[1], "killed"):
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_the_next_process_of_a_place_knows_its_predecessor(tmp_path: Path) -> None:
    path = str(tmp_path / "holder")
    with lock_holder_file(path, "first") as first:
        assert first == LeaseHolder("first")
    with lock_holder_file(path, "second") as second:
        assert second == LeaseHolder("second", "first")
    assert (tmp_path / "holder").stat().st_mode & 0o777 == 0o600


def test_a_process_that_was_killed_is_dead_and_one_that_lives_is_not(tmp_path: Path) -> None:
    path = str(tmp_path / "holder")
    command = [sys.executable, "-c", LIVING, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with lock_holder_file(path, "too early") as early:
            assert early == LeaseHolder("too early")
        process.kill()
        process.wait()
    with lock_holder_file(path, "successor") as successor:
        assert successor == LeaseHolder("successor", "killed")


def test_without_a_file_no_process_is_known_to_be_dead() -> None:
    with lock_holder_file("", "alone") as holder:
        assert holder == LeaseHolder("alone")
