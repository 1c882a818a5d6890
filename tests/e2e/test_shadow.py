"""``tidegate up --shadow`` beside a hand-played controller: it decides and touches nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.cast import events_of, eventually, job_of, make_queues, submit, tidegate, unsuspend
from tidegate.cli.instance import FILE
from tidegate.contracts.decisions import StartOrdered, WorkloadDecision, WorkloadPending
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
QUOTAS = {"shadow-a": "2", "shadow-b": "2"}
JOBS = {"first": "shadow-a", "second": "shadow-a", "third": "shadow-b"}


@asynccontextmanager
async def shadow(kubeconfig: str, state: Path) -> AsyncGenerator[str, None]:
    """Run the command until the end of the block; yield its ledger's URL once it decides."""
    command = (sys.executable, "-m", "tidegate.cli.main", "up", "--shadow", "--on", "kubeconfig")
    environment = {**os.environ, "KUBECONFIG": kubeconfig, "TIDEGATE_STATE": str(state)}
    with (state / "up.log").open("wb") as log:
        up = await asyncio.create_subprocess_exec(*command, env=environment, stdout=log, stderr=log)
    try:
        await eventually((state / FILE).exists, "the instance is up", 120)
        yield f"sqlite:///{state / 'ledger.db'}"
    finally:
        up.send_signal(signal.SIGINT)
        assert await up.wait() == 0, (state / "up.log").read_text()


def differences(ledger: str) -> dict[str, str]:
    """Return by Job what is different."""
    document: dict[str, Any] = msgspec.json.decode(
        tidegate("shadow", "--ledger", ledger, "-o", "json")
    )
    rows = document["differences"]
    ours = [row for row in rows if row["workload"].startswith("shadow-")]
    names = [row["workload"].partition("/job-")[2].rpartition("-")[0] for row in ours]
    return dict(zip(names, (row["difference"] for row in ours), strict=True))


def concerned(ledger: str, kind: type[WorkloadDecision]) -> set[str]:
    """Return the workloads of these queues that a decision of one type is about."""
    return {
        decision.workload
        for decision in events_of(ledger, kind)
        if decision.cluster_queue in QUOTAS
    }


@pytest.mark.slow
async def test_a_shadow_tells_where_it_would_have_decided_otherwise(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, QUOTAS)
    async with shadow(own_api, tmp_path) as ledger:
        for name, namespace in JOBS.items():
            await submit(api, namespace, name, cpu="2", seconds=3_600)
        await eventually(lambda: len(concerned(ledger, StartOrdered)) == 2, "two would start")
        await eventually(lambda: bool(concerned(ledger, WorkloadPending)), "and one would wait")
        (waits,) = concerned(ledger, WorkloadPending)
        other = "first" if "job-first" in waits else "second"
        # The other controller knows no quota, and has not heard of the second queue.
        for name in ("first", "second"):
            await unsuspend(api, "shadow-a", name)
        wanted = {other: "starts only there", "third": "starts only here"}
        await eventually(lambda: differences(ledger) == wanted, "both differences are told", 120)
        for name, namespace in JOBS.items():
            job = await job_of(api, namespace, name)
            assert "tidegate.dev/decision" not in job["metadata"]["annotations"]
            assert job["spec"]["suspend"] is (name == "third")
        tidegate("ledger", "verify", "--ledger", ledger)
