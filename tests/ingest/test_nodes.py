"""Nodes, Topologies and foreign pods are watched once a flavor names a topology, and summed up."""

from __future__ import annotations

import asyncio

import pytest

from ingest.session import Session
from tests.ingest.scene import session
from tests.parts.stage import KUEUE, Object, Stage, alongside, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, ObjectGone, SyncCompleted
from tidegate.contracts.observed.nodes import (
    NODE_PODS,
    NODES,
    TOPOLOGIES,
    NodeObserved,
    NodePodsObserved,
    TopologyObserved,
)
from tidegate.kinds.decode import read
from tidegate.kinds.observed import BoundPod
from tidegate.kube.ports import Response

LEVELS = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
PODS = "/api/v1/namespaces/default/pods"
NAMED = {"kueue.x-k8s.io/workload": "w"}
SLICE = {**NAMED, "kueue.x-k8s.io/workload-slice-name": "w"}
PLACED = {**NAMED, "kueue.x-k8s.io/podset-unconstrained-topology": "true"}


def flavor(topology: str | None = "t") -> Object:
    named = {} if topology is None else {"topologyName": topology}
    return kueue("ResourceFlavor", "f", nodeLabels={"kind": "tas"}, **named)


def node(name: str, **spec: object) -> Object:
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    status = {"allocatable": {"cpu": "8", "pods": "110"}, "conditions": [ready]}
    labels = {"rack": "r1", "kind": "tas", "kubernetes.io/hostname": name}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


def pod(name: str, on: str, cpu: str, annotations: dict[str, str] | None = None) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
        "spec": {"containers": [container], "nodeName": on, "restartPolicy": "Never"},
    }


def prepare(stage: Stage) -> None:
    stage.make(f"{KUEUE}/topologies", kueue("Topology", "t", levels=LEVELS))
    stage.make("/api/v1/nodes", node("n1"))
    stage.make(f"{KUEUE}/resourceflavors", flavor())


def delete(stage: Stage, name: str) -> None:
    at_once = b'{"gracePeriodSeconds": 0}'
    assert stage.embedded.call("DELETE", f"{PODS}/{name}", body=at_once).status == 200


async def forbid(_method: str, path: str) -> Response | None:
    looked_at = path.rpartition("/")[2] in {"topologies", "nodes"}
    return Response(403, b'{"kind": "Status", "code": 403}') if looked_at else None


async def sums(stage: Stage) -> list[dict[str, int] | None]:
    """Return what was reported of the pods of node n1; None: there are none any more."""
    return [
        obs.usage if isinstance(obs, NodePodsObserved) else None
        for obs in await stage.heard()
        if isinstance(obs, NodePodsObserved) or getattr(obs, "resource", "") == NODE_PODS
        if isinstance(obs, NodePodsObserved | ObjectGone)
    ]


def test_no_node_and_no_pod_is_asked_for_before_a_flavor_names_a_topology() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make("/api/v1/nodes", node("n1"))
        stage.make(f"{KUEUE}/resourceflavors", flavor(None))
        async with alongside(session(stage).run()):
            beat = await stage.hear(Heartbeat)
            assert not {TOPOLOGIES, NODES, NODE_PODS} & set(beat.resources)
            stage.change(f"{KUEUE}/resourceflavors/f", {"spec": {"topologyName": "t"}})
            stage.make(f"{KUEUE}/topologies", kueue("Topology", "t", levels=LEVELS))
            await stage.hear(Heartbeat, lambda obs: NODES in obs.resources)
            await stage.hear(NodeObserved)
            observations = await stage.hear(TopologyObserved)
        assert observations.levels == ("rack", "kubernetes.io/hostname")

    run_virtually(run())


def test_the_sums_are_complete_before_the_first_node_is_reported() -> None:
    async def run() -> None:
        stage = Stage()
        prepare(stage)
        for number in range(3):
            stage.make(PODS, pod(f"p{number}", "n1", "500m"))
        async with alongside(session(stage).run()):
            await stage.hear(NodeObserved)
            observations = await stage.heard()
            (rounded,) = (
                obs
                for obs in observations
                if isinstance(obs, SyncCompleted) and obs.resource == NODE_PODS
            )
            seen = next(obs for obs in observations if isinstance(obs, NodePodsObserved))
        assert rounded.present == ("n1",)
        assert (seen.usage, seen.uid, seen.round) == ({"cpu": 1_500, "pods": 3}, "n1", 1)
        nodes = [number for number, obs in enumerate(observations) if isinstance(obs, NodeObserved)]
        assert observations.index(seen) < observations.index(rounded) < nodes[0]

    run_virtually(run())


def test_a_heartbeat_of_a_kubelet_is_no_news_and_a_taint_is() -> None:
    async def run() -> None:
        stage = Stage()
        prepare(stage)
        async with alongside(session(stage).run()):
            await stage.hear(NodeObserved)
            ready = node("n1")["status"]["conditions"][0]
            later = {**ready, "lastHeartbeatTime": "2026-01-01T00:05:00Z"}
            stage.change("/api/v1/nodes/n1/status", {"status": {"conditions": [later]}})
            stage.change("/api/v1/nodes/n1", {"metadata": {"annotations": {"a": "b"}}})
            taint = {"key": "k", "effect": "NoSchedule"}
            stage.change("/api/v1/nodes/n1", {"spec": {"taints": [taint]}})
            await stage.hear(NodeObserved, lambda node_observed: bool(node_observed.spec.taints))
            observations = [obs for obs in await stage.heard() if isinstance(obs, NodeObserved)]
        assert len(observations) == 2
        assert observations[0].spec.allocatable == {"cpu": 8_000, "pods": 110}

    run_virtually(run())


def test_pods_are_added_up_as_they_come_and_go_and_placed_ones_are_not() -> None:
    async def run() -> None:
        stage = Stage()
        prepare(stage)
        async with alongside(session(stage).run()):
            await stage.hear(NodeObserved)
            stage.make(PODS, pod("a", "n1", "1"))
            stage.make(PODS, pod("placed", "n1", "1", PLACED))
            stage.make(PODS, pod("b", "n1", "250m"))
            await asyncio.sleep(1)
            stage.change(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
            await asyncio.sleep(1)
            delete(stage, "b")
            await asyncio.sleep(60)
            assert await sums(stage) == [
                {"cpu": 1_000, "pods": 1},
                {"cpu": 1_250, "pods": 2},
                {"cpu": 250, "pods": 1},
                {},
            ]
            observations = await stage.hear(NodePodsObserved, lambda obs: not obs.usage)
            assert observations.claimed == {"default/w": {"cpu": 1_000, "pods": 1}}

    run_virtually(run())


WISHES = ("required", "preferred", "unconstrained", "slice-required")


@pytest.mark.parametrize(
    ("marks", "counted"),
    [
        *((NAMED | {f"kueue.x-k8s.io/podset-{wish}-topology": "rack"}, False) for wish in WISHES),
        (SLICE | PLACED, False),
        (NAMED, True),
        (SLICE, True),
        ({"kueue.x-k8s.io/podset-required-topology": "rack"}, True),
    ],
)
def test_a_pod_is_counted_on_its_node_unless_a_topology_placed_it(
    marks: dict[str, str], *, counted: bool
) -> None:
    """Kueue names the Workload of every pod, whether or not a topology placed it."""
    actual_pod = read({"metadata": {"name": "p", "annotations": marks}}, BoundPod)
    assert actual_pod.metadata.annotations.is_placed_by_topology == (not counted)


def test_workloads_of_living_and_ended_pods_are_reported_with_a_node_that_is_not_ready() -> None:
    async def run() -> None:
        stage = Stage()
        prepare(stage)
        stage.make(PODS, pod("one", "n1", "1", PLACED))
        stage.make(PODS, pod("two", "n1", "1", PLACED))
        async with alongside(session(stage).run()):
            await stage.hear(NodeObserved)
            assert (await stage.hear(NodePodsObserved)).living is None
            lost = {"type": "Ready", "status": "Unknown"}
            stage.change("/api/v1/nodes/n1/status", {"status": {"conditions": [lost]}})
            stage.change(f"{PODS}/one/status", {"status": {"phase": "Failed"}})
            observations = await stage.hear(NodePodsObserved, lambda obs: obs.living is not None)
            assert (observations.living, observations.ended) == (("default/w",), ())
            stage.change(f"{PODS}/two/status", {"status": {"phase": "Failed"}})
            observations = await stage.hear(
                NodePodsObserved, lambda obs: obs.ended == ("default/w",)
            )
            assert observations.living == ()
            ready = {"type": "Ready", "status": "True"}
            stage.change("/api/v1/nodes/n1/status", {"status": {"conditions": [ready]}})
            await stage.hear(ObjectGone, lambda obs: obs.resource == NODE_PODS)

    run_virtually(run())


@pytest.mark.parametrize(
    ("tolerated", "living"),
    [
        ({"operator": "Exists"}, ()),
        ({"operator": "Exists", "tolerationSeconds": 300}, ("default/w",)),
        ({"key": "other", "operator": "Exists"}, ("default/w",)),
    ],
)
def test_a_pod_that_tolerates_a_taint_for_ever_is_not_reported_with_the_node(
    tolerated: Object, living: tuple[str, ...]
) -> None:
    async def run() -> None:
        stage = Stage()
        prepare(stage)
        made = pod("one", "n1", "1", PLACED)
        made["spec"]["tolerations"] = [tolerated]
        stage.make(PODS, made)
        async with alongside(session(stage).run()):
            await stage.hear(NodeObserved)
            taint = {"key": "k", "effect": "NoSchedule"}
            stage.change("/api/v1/nodes/n1", {"spec": {"taints": [taint]}})
            observations = await stage.hear(NodePodsObserved, lambda obs: obs.living is not None)
            assert observations.living == living

    run_virtually(run())


def test_what_pods_claim_is_no_news_alone_and_reported_by_the_next_list() -> None:
    async def run() -> None:
        stage = Stage()
        prepare(stage)
        async with alongside(session(stage).run()):
            await stage.hear(NodeObserved)
            stage.make(PODS, pod("one", "n1", "1", PLACED))
            await asyncio.sleep(60)
            assert await sums(stage) == []
            observations = await stage.hear(NodePodsObserved)  # after ten minutes
            assert (observations.usage, observations.claimed) == (
                {},
                {"default/w": {"cpu": 1_000, "pods": 1}},
            )
            delete(stage, "one")  # a sum that was reported is reported as gone
            await stage.hear(ObjectGone, lambda obs: obs.resource == NODE_PODS)

    run_virtually(run())


def test_a_sum_that_changed_between_watches_is_reported_by_the_next_list() -> None:
    async def run() -> None:
        stage = Stage()
        prepare(stage)
        stage.make(PODS, pod("a", "n1", "1"))
        async with alongside(session(stage).run()):
            await stage.hear(NodeObserved)
            stage.api.down = True
            await asyncio.sleep(100)
            delete(stage, "a")
            stage.embedded.compact()
            stage.api.down = False
            await stage.hear(ObjectGone, lambda obs: obs.resource == NODE_PODS)

    run_virtually(run())


@pytest.mark.parametrize("resource", [TOPOLOGIES, NODES])
def test_without_the_rights_time_passes_and_readiness_says_what_is_missing(resource: str) -> None:
    async def run() -> None:
        stage = Stage()
        prepare(stage)
        stage.api.before = forbid
        ingest: Session = session(stage)
        async with alongside(ingest.run()):
            beat = await stage.hear(Heartbeat)
            assert resource not in beat.resources
            assert f"{resource}: there is no right to list it" in ingest.waits_for()
            stage.api.before = None
            await stage.hear(Heartbeat, lambda obs: resource in obs.resources)

    run_virtually(run())
