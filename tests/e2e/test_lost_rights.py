"""A preemptor whose namespace the queue selects no longer gets nothing, though its victim left."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.cast import events_of, eventually, make_queues
from tests.e2e.living import GROUP, Living
from tests.e2e.ordeal import alone
from tidegate.cluster.running import RunningServices, run_services
from tidegate.contracts.decisions import PreemptionIntended, WorkloadAdmitted
from tidegate.contracts.facts import NamespaceDefined
from tidegate.kube.ports import KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]
NAME = "rights-lost"
NAMESPACE = f"/api/v1/namespaces/{NAME}"


def is_selected(running: RunningServices) -> bool:
    """Tell whether the newest that the ledger knows of the namespace has the label."""
    known = [event for event in events_of(running.ledger, NamespaceDefined) if event.name == NAME]
    return "team" in known[-1].labels


def admitted(running: RunningServices) -> list[str]:
    keys = [event.workload for event in events_of(running.ledger, WorkloadAdmitted)]
    return [key for key in keys if key.startswith(f"{NAME}/")]


def preempts(running: RunningServices, name: str) -> bool:
    intended = events_of(running.ledger, PreemptionIntended)
    return any(event.workload == f"{NAME}/{name}" for event in intended)


async def test_a_preemptor_that_may_no_longer_be_admitted_is_not(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {NAME: "1"})
    life = Living(api, NAME)
    spec = {
        "namespaceSelector": {"matchLabels": {"team": "a"}},
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    await life.change(f"{GROUP}/clusterqueues/{NAME}", spec=spec)
    await life.change(NAMESPACE, metadata={"labels": {"team": "a"}})
    async with run_services(alone(tmp_path, own_api), print) as running:
        await life.make("runs")
        await life.shows("runs", "Admitted=True Admitted")
        os.kill(running.supervisor.pid("actuator"), signal.SIGSTOP)  # so the victim is not stopped
        await life.make("urgent", priority=5)
        await eventually(lambda: preempts(running, "urgent"), "it preempts")
        await life.change(NAMESPACE, metadata={"labels": {"team": None}})
        await eventually(lambda: not is_selected(running), "its label is gone")
        os.kill(running.supervisor.pid("actuator"), signal.SIGCONT)
        await life.shows("urgent", "QuotaReserved=False Misconfigured")
        assert admitted(running) == [f"{NAME}/runs"]
        await life.change(NAMESPACE, metadata={"labels": {"team": "a"}})
        await life.shows("urgent", "Admitted=True Admitted")
