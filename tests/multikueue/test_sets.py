"""A LeaderWorkerSet on worker clusters: all its groups on one, and what becomes of each.

A stand-in makes the pods; every other part is real but the networks and the clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.ordering.pod_events import started_event
from actuator.ungating.pod_ungater import PodUngater
from actuator.ungating.serving import Report, ServingPods, report_nothing
from tests.ingest.test_serving import SETS as STATEFUL_SETS
from tests.ingest.test_serving import leader_worker_set, owner_of, pod, stateful
from tests.multikueue.sites import NAMESPACE, Manager, Site, until
from tests.multikueue.world import PODS, POLICY, SENT, WORKLOADS, Object, World
from tests.parts.foreign import foreign_crd
from tests.parts.stage import CRDS, alongside
from tests.parts.virtual import run_virtually
from tidegate.jobs.kind import Patch
from tidegate.kinds import names
from tidegate.kinds.pods import Pod

LWS = "leaderworkerset.x-k8s.io/leaderworkerset"
SETS = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{NAMESPACE}/leaderworkersets"
SENT_SETS = replace(POLICY, multikueue=replace(SENT, kinds=(LWS,), worker_lost_us=60_000_000))


def world(quotas: tuple[str, str] = ("2", "8")) -> World:
    """Return three clusters that know LeaderWorkerSets: w1 has room for one group."""
    actual_world = World(SENT_SETS, quotas=quotas)
    for site in sites(actual_world):
        site.kinds = (*site.kinds, LWS)
        for name in ("leaderworkerset", "statefulset"):
            site.stage.make(CRDS, foreign_crd(name))
    return actual_world


def sites(actual_world: World) -> list[Site]:
    return [actual_world.manager, *actual_world.workers.values()]


@asynccontextmanager
async def running(actual_world: World, report: Report = report_nothing) -> AsyncGenerator[Manager]:
    """Let all services work, and in each cluster the controllers of sets and pods."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(actual_world.running())
        for site in sites(actual_world):
            calls = Calls(site.stage.embedded, Metrics(CollectorRegistry()))
            lets_go = PodUngater(calls, Random(3), ServingPods(report))
            lets_go.set_active(True)
            for work in (lets_go.run(), make_pods(site)):
                await stack.enter_async_context(alongside(work))
        await stack.enter_async_context(alongside(actual_world.manager.dispatch()))
        yield actual_world.manager


async def make_pods(site: Site) -> None:
    """Keep two pods behind their gates for each group of each set, and none beyond."""
    while True:
        wanted = {
            pod["metadata"]["name"]: pod
            for obj in site.items(SETS)
            for pod in pods_of(stateful_set_of(site, obj), obj["spec"]["replicas"])
        }
        there = {pod["metadata"]["name"] for pod in site.items(PODS)}
        for name in there - wanted.keys():
            site.stage.remove(f"{PODS}/{name}")
        for name in sorted(wanted.keys() - there):
            site.stage.make(PODS, wanted[name])
        await asyncio.sleep(0.5)


def stateful_set_of(site: Site, obj: Object) -> Object:
    """Return the object that the pods of a set hang on, which goes with that set."""
    uid = obj["metadata"]["uid"]
    for candidate_obj in site.items(STATEFUL_SETS):
        if candidate_obj["metadata"]["ownerReferences"][0]["uid"] == uid:
            return candidate_obj
    made = stateful("llm", queue="")
    made["metadata"] |= {"name": f"llm-{uid}", "ownerReferences": [owner_of(obj)]}
    return site.stage.make(STATEFUL_SETS, made)


def pods_of(leaders: Object, replicas: int) -> list[Object]:
    made = list[Object]()
    for index in range(replicas):
        for worker, name in enumerate((f"llm-{index}", f"llm-{index}-1")):
            part = {"group_index": str(index), "worker_index": str(worker)}
            obj = pod(name, leaders, gated=True, name="llm", **part)
            obj["metadata"]["labels"] |= {names.SERVING_POD: "true", names.MANAGED: "true"}
            obj["metadata"]["annotations"] |= {"simulate/seconds": "100000"}
            made.append(obj)
    return made


def submit(manager: Manager, replicas: int = 2) -> None:
    """Make a set of groups of a leader and a worker, of one CPU each."""
    manager.stage.make(SETS, leader_worker_set(replicas))


def runs(site: Site) -> list[str]:
    """Return the names of the pods of a cluster that run."""
    pods = site.items(PODS)
    return sorted(
        obj["metadata"]["name"] for obj in pods if obj.get("status", {}).get("phase") == "Running"
    )


def clusters(manager: Manager) -> list[str]:
    """Return the clusters that run the groups, the first group's first."""
    workloads = sorted(
        manager.items(WORKLOADS), key=lambda workload: str(workload["metadata"]["name"])
    )
    return [obj.get("status", {}).get("clusterName", "") for obj in workloads]


GROUP_0, GROUP_1 = ["llm-0", "llm-0-1"], ["llm-1", "llm-1-1"]


def is_empty(site: Site) -> bool:
    return not any(site.items(path) for path in (SETS, WORKLOADS, PODS))


def test_all_groups_go_where_the_first_one_was_admitted_though_another_has_room() -> None:
    async def live() -> None:
        actual_world = world()
        w1, w2 = actual_world.workers.values()
        w2.stage.change(QUEUE_OF, {"spec": {"stopPolicy": "Hold"}})
        async with running(actual_world) as manager:
            submit(manager)
            await until(lambda: runs(w1) == GROUP_0, "the first runs where there was room")
            w2.stage.change(QUEUE_OF, {"spec": {"stopPolicy": "None"}})
            await asyncio.sleep(60)
            assert runs(w1) == GROUP_0, "the other waits there for quota"
            assert (is_empty(w2), clusters(manager)) == (True, ["w1", ""])
            assert not runs(manager)

    run_virtually(live())


def test_each_pod_that_is_let_go_shows_its_start() -> None:
    async def live() -> None:
        actual_world, events = world(), list[Object]()

        def report(pod: Pod, patch: Patch) -> None:
            events.append(started_event(pod.metadata, patch, 1))

        async with running(actual_world, report):
            submit(actual_world.manager)
            await until(lambda: len(events) >= 2, "a group was let go")
        texts = {(event["involvedObject"]["name"], event["message"]) for event in events}
        assert {(name, "Admitted by clusterQueue main") for name in GROUP_0} <= texts
        assert {event["reason"] for event in events} == {"Started"}

    run_virtually(live())


QUEUE_OF = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/main"


def test_groups_that_come_later_run_there_as_well_and_those_that_go_leave_the_others() -> None:
    async def live() -> None:
        actual_world = world(("0", "8"))
        async with running(actual_world) as manager:
            submit(manager)
            there, other = actual_world.workers["w2"], actual_world.workers["w1"]
            await until(lambda: runs(there) == GROUP_0 + GROUP_1, "both run")
            assert (clusters(manager), runs(manager)) == (["w2", "w2"], [])
            uid = there.items(SETS)[0]["metadata"]["uid"]
            manager.stage.change(f"{SETS}/llm", {"spec": {"replicas": 3}})
            await until(lambda: len(runs(there)) == 6, "the third runs as well")
            manager.stage.change(f"{SETS}/llm", {"spec": {"replicas": 1}})
            await until(lambda: runs(there) == GROUP_0, "two of them are gone there")
            await until(lambda: len(there.items(WORKLOADS)) == 1, "and their copies")
            assert there.items(SETS)[0]["metadata"]["uid"] == uid, "it was not sent anew"
            manager.stage.remove(f"{SETS}/llm")
            await until(lambda: is_empty(there) and is_empty(other), "nothing is left")

    run_virtually(live())


def test_a_group_that_is_deactivated_leaves_the_others_alone_and_comes_back() -> None:
    async def live() -> None:
        actual_world = world(("0", "8"))
        async with running(actual_world) as manager:
            submit(manager)
            there = actual_world.workers["w2"]
            await until(lambda: runs(there) == GROUP_0 + GROUP_1, "both run")
            uids = {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in there.items(PODS)}
            name = min(workload["metadata"]["name"] for workload in manager.items(WORKLOADS))
            manager.stage.change(f"{WORKLOADS}/{name}", {"spec": {"active": False}})
            await until(lambda: runs(there) == GROUP_1, "the first has stopped there")
            await until(lambda: len(there.items(WORKLOADS)) == 1, "its copy is gone")
            manager.stage.change(f"{WORKLOADS}/{name}", {"spec": {"active": True}})
            await until(lambda: runs(there) == GROUP_0 + GROUP_1, "it runs there again")
            after = {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in there.items(PODS)}
            assert [after[text] == uids[text] for text in GROUP_0 + GROUP_1] == [False] * 2 + [
                True
            ] * 2

    run_virtually(live())


def test_all_groups_go_elsewhere_once_their_cluster_is_lost_and_it_gives_them_back() -> None:
    async def live() -> None:
        actual_world = world(("8", "8"))
        async with running(actual_world) as manager:
            submit(manager)
            await until(lambda: len(list(filter(None, clusters(manager)))) == 2, "both were sent")
            [name] = {*clusters(manager)}
            lost = actual_world.workers[name]
            other = actual_world.workers["w2" if name == "w1" else "w1"]
            lost.stage.api.down = True
            await until(lambda: runs(other) == GROUP_0 + GROUP_1, "they run in the other")
            assert clusters(manager) == [other.name] * 2
            lost.stage.api.down = False
            await until(lambda: is_empty(lost), "it gives them back")
            assert runs(other) == GROUP_0 + GROUP_1

    run_virtually(live())


def test_a_set_of_others_is_left_alone() -> None:
    async def live() -> None:
        actual_world = world(("0", "8"))
        there = actual_world.workers["w2"]
        made = there.stage.make(SETS, leader_worker_set(0))
        async with running(actual_world) as manager:
            submit(manager)
            await until(lambda: len(there.items(WORKLOADS)) == 1, "it is asked for the first")
            await asyncio.sleep(120)
            manager.stage.remove(f"{SETS}/llm")
            await until(lambda: not there.items(WORKLOADS), "the copy is gone")
            assert there.items(SETS)[0]["metadata"]["uid"] == made["metadata"]["uid"]
            assert not runs(there)

    run_virtually(live())
