"""The examples of the documentation do what they say, on Tidegate as it is started."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.parts.postgresql import wait_until
from tidegate.cli.demo import queue_manifests
from tidegate.cli.instance import FILE, Instance
from tidegate.cluster.install import apply
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TIDEGATE = (sys.executable, "-m", "tidegate.cli.main")
pytestmark = pytest.mark.real


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    """Tidegate on the embedded API server, as ``tidegate up`` starts it."""
    environment = {**os.environ, "TIDEGATE_STATE": str(tmp_path)}
    log = (tmp_path / "up.log").open("wb")
    command = [*TIDEGATE, "up", "--on", "embedded"]
    with log, subprocess.Popen(command, env=environment, stdout=log, stderr=log):
        try:
            wait_until((tmp_path / FILE).exists, "tidegate up did not come up", within_s=300)
            yield msgspec.json.decode((tmp_path / FILE).read_bytes(), type=Instance)
        finally:
            subprocess.run([*TIDEGATE, "down"], env=environment, check=True, capture_output=True)


async def apply_queues(kubeconfig: str) -> None:
    async with connect(Access(kubeconfig=kubeconfig)) as api:
        for manifest in queue_manifests():
            await apply(api, manifest)


def test_a_job_is_submitted_and_its_admission_awaited(instance: Instance) -> None:
    asyncio.run(apply_queues(instance.kubeconfig))
    done = subprocess.run(
        [sys.executable, EXAMPLES / "wait_for_admission.py", instance.nats_url, "team-a", "main"],
        env={**os.environ, "KUBECONFIG": instance.kubeconfig},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"seq \d+: submitted as team-a/job-example-", done.stdout)
    assert re.search(r"seq \d+: admitted to team-a\n", done.stdout)
