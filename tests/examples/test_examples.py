"""The examples of the documentation do what they say, on Tidegate as it is started."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.parts.postgresql import wait_until
from tests.parts.sample import TOLD, published
from tidegate.cli.demo.manifests import queues
from tidegate.cli.instance import FILE, Instance
from tidegate.cluster.go.building import find_go
from tidegate.cluster.install import apply
from tidegate.kube.client import Access, connect

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
        for manifest in queues():
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


@pytest.fixture
async def url(tmp_path: Path) -> AsyncGenerator[str, None]:
    """A server whose EVENTS hold the sample."""
    async with published(tmp_path / "nats") as url:
        yield url


@pytest.fixture(scope="session")
def go_example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Go example's binary."""
    go = find_go()
    if go is None:
        pytest.skip("Go is missing to compile the example: install it (https://go.dev/dl).")
    folder, binary = EXAMPLES / "go", tmp_path_factory.mktemp("go") / "events"
    # As the control plane is built: Go's own packages are compiled already.
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-trimpath -mod=readonly"}
    command = [go, "mod", "download"]
    fetched = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        pytest.skip(
            f"The Go example's modules could not be fetched ({fetched.stderr[-300:].strip()}): let "
            "Go reach a module proxy, once."
        )
    subprocess.run([go, "build", "-o", binary, "."], cwd=folder, env=env, check=True)
    subprocess.run([go, "vet", "."], cwd=folder, env=env, check=True)
    return binary


async def test_the_go_example_tells_admissions_and_preemptions(go_example: Path, url: str) -> None:
    wanted = [
        entry.seq for entry in TOLD if entry.type in {"WorkloadAdmitted", "WorkloadPreempted"}
    ]
    process = await asyncio.create_subprocess_exec(go_example, url, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        lines = [(await process.stdout.readline()).decode() for _ in wanted]
    process.terminate()
    await process.communicate()
    assert [int(line.split()[1].rpartition("/")[2]) for line in lines] == wanted
    assert any("dev.tidegate.WorkloadPreempted" in line and " by b/job-" in line for line in lines)
