"""``tidegate notify`` checks its file, and shows in a dry run what it would send."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.parts.sample import ENTRIES, published

TIDEGATE = (sys.executable, "-m", "tidegate.cli.main", "notify")
FILE = """
receivers:
- name: chat
  url: https://chat.example/hook
  rules:
  - when: [Admitted]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "notify.yaml"
    path.write_text(FILE)
    return path


def test_a_good_file_is_understood(config: Path) -> None:
    done = subprocess.run(
        [*TIDEGATE, "--config", config, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "notify.yaml is valid; receivers: 1." in done.stdout


def test_a_bad_file_is_refused_with_its_place(config: Path) -> None:
    config.write_text(FILE.replace("Admitted", "Born"))
    done = subprocess.run(
        [*TIDEGATE, "--config", config, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "receivers[0].rules[0].when" in done.stderr


@pytest.mark.real
async def test_a_dry_run_prints_and_ends_when_asked(config: Path, tmp_path: Path) -> None:
    expected = [entry.seq for entry in ENTRIES if entry.type == "WorkloadAdmitted"]
    async with published(tmp_path / "nats") as url:
        lines = await asyncio.to_thread(dry_run, config, url, len(expected))
    notices = [msgspec.json.decode(line) for line in lines]
    assert [notice["seq"] for notice in notices] == expected
    assert {notice["receiver"] for notice in notices} == {"chat"}


def dry_run(config: Path, url: str, count: int) -> list[str]:
    command = [*TIDEGATE, "--config", str(config), "--bus", url, "--dry-run", "--since", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        lines = [running.stdout.readline() for _ in range(count)]
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    return lines
