"""The README's first command does what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real


def test_the_demo_completes_every_job_verifies_and_shows_no_password(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tidegate.cli.main", "demo", "--on", "embedded"],
        env={**os.environ, "TIDEGATE_STATE": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "60 of 60 Jobs completed" in done.stdout
    assert re.search(r"holds:\s+True", done.stdout), done.stdout
    assert "--witness nats://tidegate:***@" in done.stdout
    assert not re.search(r"://tidegate:[^*]", done.stdout)
