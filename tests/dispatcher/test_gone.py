"""Nothing of what is gone stays in the dispatcher, and no copy on a worker cluster."""

from __future__ import annotations

import asyncio
from collections import Counter

from tests.dispatcher.stage import Dispatch
from tests.multikueue.sites import SECRETS
from tests.multikueue.world import WORKLOADS
from tests.parts.growth import kept_entries
from tests.parts.stage import JOBS, KUEUE, alongside
from tests.parts.virtual import run_virtually
from tidegate.contracts.fact_kinds.clusters import MultiKueueClusterRemoved
from tidegate.contracts.facts import ClusterQueueRemoved, WorkloadRemoved

FIRST, LAST = 3, 33
PACKAGES = ("dispatcher.", "prometheus_client.", "tidegate.")
GONE = (
    f"{SECRETS}/{{}}",
    f"{KUEUE}/admissionchecks/{{}}",
    f"{KUEUE}/multikueueconfigs/{{}}",
    f"{KUEUE}/namespaces/default/localqueues/{{}}",
    f"{KUEUE}/clusterqueues/{{}}",
)


def _finish(dispatch: Dispatch, name: str) -> None:
    dispatch.feed.say(WorkloadRemoved(at_us=1, workload=f"default/{name}"))
    dispatch.manager.remove(f"{WORKLOADS}/{name}")
    dispatch.manager.remove(f"{JOBS}/{name}")


async def _generation(dispatch: Dispatch, name: str) -> None:
    """Have a cluster with all that leads there; one of its workloads ends after the cluster."""
    dispatch.make_cluster(name)
    dispatch.make_check(name, name)
    dispatch.make_queue(name, name)
    await asyncio.sleep(10)
    for workload in (f"early-{name}", f"late-{name}"):
        dispatch.send(workload, name, name)
    await asyncio.sleep(20)
    _finish(dispatch, f"early-{name}")
    await asyncio.sleep(10)
    dispatch.manager.remove(f"{KUEUE}/multikueueclusters/{name}")
    dispatch.feed.say(MultiKueueClusterRemoved(at_us=1, name=name))
    await asyncio.sleep(5)
    _finish(dispatch, f"late-{name}")
    for path in GONE:
        dispatch.manager.remove(path.format(name))
    dispatch.feed.say(ClusterQueueRemoved(at_us=1, name=name))
    await asyncio.sleep(100)


def test_nothing_stays_of_clusters_queues_and_workloads_that_are_gone() -> None:
    async def live() -> None:
        dispatch, counts = Dispatch(), list[Counter[str]]()
        async with alongside(dispatch.session.run()):
            for number in range(1, LAST + 1):
                await _generation(dispatch, f"t{number}")
                if number in {FIRST, LAST}:
                    counts.append(kept_entries(*PACKAGES))
        before, after = counts
        assert {place: n - before[place] for place, n in after.items() if n > before[place]} == {}
        sent = [path for method, path in dispatch.others.requests if method == "POST"]
        assert len([path for path in sent if path.endswith("/workloads")]) == 2 * LAST

    run_virtually(live())
