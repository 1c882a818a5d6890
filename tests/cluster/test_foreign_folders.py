"""Where a user stands when he starts Tidegate: modules in that folder are not taken for ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

DEADLINE_S = 120
OURS = ("actuator", "apiserver", "ingest", "scheduler", "store", "tidegate")


def test_everything_comes_up_in_a_folder_with_modules_of_the_same_names(tmp_path: Path) -> None:
    for name in OURS:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the user')\n")
    environment = {**os.environ, "TIDEGATE_STATE": str(tmp_path / "state")}
    tidegate = [sys.executable, "-P", "-m", "tidegate.cli.main"]
    log = tmp_path / "up.log"
    with log.open("wb") as out:
        command = [*tidegate, "up", "--on", "embedded"]
        up = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + DEADLINE_S
        while "\nup: " not in log.read_text():
            assert up.poll() is None, log.read_text()
            assert "exit code" not in log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
    finally:
        up.send_signal(signal.SIGINT)
        assert up.wait(DEADLINE_S) == 0
        subprocess.run([*tidegate, "down"], env=environment, check=True)
