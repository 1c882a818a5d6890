"""``tidegate notify`` beside a running instance: a real HTTP server gets each notice once."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.e2e.cast import KUEUE, events_of, eventually, make_queues, submit
from tests.e2e.ordeal import alone
from tests.notify.conftest import Hook, hook
from tidegate.cli.ledger.reading import open_reader
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, run_services
from tidegate.contracts.codec import decode
from tidegate.contracts.decision_kinds.queues import BudgetReached
from tidegate.contracts.decisions import WorkloadAdmitted
from tidegate.contracts.facts import WorkloadFinished
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

__all__ = ["hook"]
pytestmark = pytest.mark.real
NOTICED = {"BudgetReached", "WorkloadAdmitted", "WorkloadFinished", "WorkloadPreempted"}
FILE = """
receivers:
- name: chat
  url: {url}
  rules:
  - when: [Admitted, Preempted, Finished]
    namespaces: [told]
  - budgetAt: [80, 100]
    clusterQueues: [told]
"""


@asynccontextmanager
async def notifying(config: Path, running: RunningServices, state: Path) -> AsyncGenerator[Process]:
    """Run the notifier from the first event on, or from where it was; ask it to end."""
    where = ("--config", config, "--bus", running.nats_url, "--state", state, "--since", "1")
    words = ("-m", "tidegate.cli.main", "notify", *map(str, where))
    process = await asyncio.create_subprocess_exec(sys.executable, *words)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def noticed(running: RunningServices) -> list[int]:
    """Return the seqs of the events that the rules ask for; jobs of other tests may end, too."""
    with open_reader(running.ledger) as reader:
        entries = [entry for entry in reader.entries() if entry.type in NOTICED]
    events = {entry.seq: decode(entry.payload) for entry in entries}
    return [
        seq
        for seq, event in events.items()
        if (isinstance(event, BudgetReached) and event.cluster_queue == "told")
        or getattr(event, "workload", "").startswith("told/")
    ]


def spent(running: RunningServices) -> int:
    """Return how often this ClusterQueue's budget reached a part of it that the rules name."""
    reached = events_of(running.ledger, BudgetReached)
    return sum(event.cluster_queue == "told" for event in reached)


def is_finished(running: RunningServices, name: str) -> bool:
    """Tell whether a Job of this namespace finished; jobs of other tests may finish, too."""
    ended = events_of(running.ledger, WorkloadFinished)
    return any(event.workload.startswith(f"told/job-{name}-") for event in ended)


def seqs(keys: list[str]) -> list[int]:
    return [int(key.split("/")[1]) for key in keys]


async def all_noticed(hook: Hook, running: RunningServices, process: Process) -> None:
    """Wait until the webhook has had each notice once, for as long as the notifier runs."""
    await eventually(
        lambda: process.returncode is not None or seqs(hook.taken) == noticed(running),
        "each notice was taken once",
    )
    assert process.returncode is None, "the notifier ended"
    assert seqs(hook.taken) == noticed(running), (hook.keys, noticed(running))


async def annotate(api: KubernetesApi, budget: str) -> None:
    """Let the queue preempt for priority, and give it a budget."""
    body = {
        "metadata": {"annotations": {"tidegate.dev/budget": budget}},
        "spec": {"preemption": {"withinClusterQueue": "LowerPriority"}},
    }
    path = f"/apis/{KUEUE}/clusterqueues/told"
    data = msgspec.json.encode(body)
    answer = await api.request("PATCH", path, body=data, content_type=MERGE_PATCH)
    assert answer.status == 200, answer


async def prioritise(api: KubernetesApi, name: str) -> None:
    """Make a priority class, and give it to a Job that waits."""
    kind = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": 9}
    await apply(api, {**kind, "metadata": {"name": "urgent"}})
    labels = {"kueue.x-k8s.io/priority-class": "urgent"}
    data = msgspec.json.encode({"metadata": {"labels": labels}})
    path = f"/apis/batch/v1/namespaces/told/jobs/{name}"
    answer = await api.request("PATCH", path, body=data, content_type=MERGE_PATCH)
    assert answer.status == 200, answer


@pytest.mark.slow
async def test_what_happens_reaches_a_webhook_in_order_and_once(
    api: KubernetesApi, own_api: str, tmp_path: Path, hook: Hook
) -> None:
    await make_queues(api, {"told": "2"})
    await annotate(api, "cpu=8m/day")
    config, state = tmp_path / "notify.yaml", tmp_path / "positions"
    config.write_text(FILE.format(url=hook.url))
    hook.statuses = [503, 429, 500]
    async with run_services(alone(tmp_path, own_api), print) as running:
        async with notifying(config, running, state) as process:
            await submit(api, "told", "slow", cpu="2", seconds=600)
            await eventually(lambda: spent(running) == 2, "all is spent")
            await all_noticed(hook, running, process)
        assert hook.keys[:4] == 4 * hook.keys[:1]
        hook.statuses = [503]  # it is away, comes back, and nothing comes twice
        await submit(api, "told", "urgent", cpu="2", seconds=1)
        await prioritise(api, "urgent")
        await eventually(lambda: is_finished(running, "urgent"), "it finished")
        async with notifying(config, running, state) as process:
            await all_noticed(hook, running, process)
    admitted = [event.workload for event in events_of(running.ledger, WorkloadAdmitted)]
    assert sum(key.startswith("told/") for key in admitted) >= 2
    types = {body["type"].rpartition(".")[2] for body in hook.bodies}
    assert types == {"Admitted", "Preempted", "Finished", "BudgetReached"}
    assert len(hook.keys) == len(hook.taken) + 4
