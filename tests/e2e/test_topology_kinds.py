"""A job of each kind on racks: every pod waits, is told its node, and runs in the required rack.

The pods of Kubernetes' own kinds and those of kinds whose controllers are stood in for; groups of
pods, and what becomes of lost nodes, are in ``test_topology``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.act import Act
from tests.e2e.cast import until
from tests.e2e.kinds import ACTS
from tests.e2e.lws import leader_worker_sets, numbering
from tests.e2e.operators import Operator, at_work
from tests.e2e.racks import HOSTS, NAME, PODS, RACK, WORKLOADS, Enabled, Racks, racks
from tests.e2e.test_job_kinds import get
from tests.e2e.test_serving import LWS, leader_worker_set, of_apps
from tests.parts.foreign import foreign_crd, pods_template
from tests.parts.kubernetes import new_api as own_api
from tidegate.cluster.install import apply
from tidegate.jobs.templates.paths import Path as Where
from tidegate.jobs.templates.paths import parse_path, with_value
from tidegate.kinds.kueue_api.workloads.conversion import topology_assignment
from tidegate.kinds.kueue_api.workloads.status import TopologyAssignment
from tidegate.kinds.names import TOPOLOGY_GATE, WORKLOAD
from tidegate.kube.ports import KubernetesApi
from tidegate.model.topology import HOSTNAME, unpack

__all__ = ["own_api"]
pytestmark = [pytest.mark.real, pytest.mark.slow]
Object = dict[str, Any]
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
CPU, WORKERS, LONG_S = "2", 4, 3_600.0
"""Two pods fill a node, so that four of them need two nodes of one rack."""
LWS_PATH = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{NAME}/leaderworkersets"
STATEFUL_SETS = f"/apis/apps/v1/namespaces/{NAME}/statefulsets"
_TEMPLATES: dict[str, tuple[str, ...]] = {
    **{
        kind: tuple(f"spec.{field}.{role}.template" for role in roles)
        for kind, field, roles in (
            ("pytorch", "pytorchReplicaSpecs", ("Master", "Worker")),
            ("tf", "tfReplicaSpecs", ("PS", "Worker")),
            ("xgboost", "xgbReplicaSpecs", ("Master", "Worker")),
            ("paddle", "paddleReplicaSpecs", ("Master", "Worker")),
            ("jax", "jaxReplicaSpecs", ("Worker",)),
            ("mpi", "mpiReplicaSpecs", ("Launcher", "Worker")),
        )
    },
    **{
        kind: (f"{root}.headGroupSpec.template", f"{root}.workerGroupSpecs.0.template")
        for kind, root in (
            ("raycluster", "spec"),
            ("rayjob", "spec.rayClusterSpec"),
            ("rayservice", "spec.rayClusterConfig"),
        )
    },
    "job": ("spec.template",),
    "jobset": tuple(f"spec.replicatedJobs.{at}.template.spec.template" for at in (0, 1)),
    "appwrapper": ("spec.components.0.template.spec.template",),
}
"""By the name of a kind's act: where its pods' templates are, those of the workers last."""
_WORKERS: dict[str, Object] = {
    "job": dict.fromkeys(("spec.parallelism", "spec.completions"), WORKERS)
    | {"spec.completionMode": "Indexed"},
    "jobset": {
        "spec.replicatedJobs.1.replicas": 2,
        "spec.replicatedJobs.1.template.spec.parallelism": WORKERS // 2,
        "spec.replicatedJobs.1.template.spec.completions": WORKERS // 2,
    },
    "appwrapper": {
        "spec.components.0.template.spec.parallelism": WORKERS,
        "spec.components.0.template.spec.completions": WORKERS,
        "spec.components.0.template.spec.completionMode": "Indexed",
    },
    "train": {
        "spec.trainer.numNodes": WORKERS,
        "spec.trainer.resourcesPerNode": {"requests": {"cpu": CPU}},
        "spec.runtimePatches": [
            {
                "manager": "example.com/controller",
                "trainingRuntimeSpec": {
                    "template": {
                        "spec": {
                            "replicatedJobs": [
                                {
                                    "name": "node",
                                    "template": {
                                        "spec": {
                                            "template": {
                                                "metadata": {"annotations": {REQUIRED: RACK}}
                                            }
                                        }
                                    },
                                }
                            ]
                        }
                    }
                },
            }
        ],
    },
    "spark": {
        "spec.executor.instances": WORKERS,
        **{f"spec.{role}.coreRequest": CPU for role in ("driver", "executor")},
        **{
            f"spec.{role}.annotations": {REQUIRED: RACK, "simulate/seconds": str(LONG_S)}
            for role in ("driver", "executor")
        },
    },
}
"""What else is set: by default ``replicas``, beside the workers' template."""
_PLACED = {name: WORKERS + len(paths) - 1 for name, paths in _TEMPLATES.items()} | {
    "train": WORKERS,
    "spark": WORKERS + 1,
    "statefulset": WORKERS,
    "lws": WORKERS + 1,
    "pod": 1,
}
"""How many pods each has."""


async def test_the_pods_of_each_kind_run_where_the_topology_says(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    acts = [act for act in ACTS if act.name in _PLACED]
    others = ("pod", "statefulset", "deployment", LWS)
    await apply(api, foreign_crd("leaderworkerset"))
    for policy in numbering():
        await apply(api, policy)
    async with AsyncExitStack() as beside:
        here = await beside.enter_async_context(
            racks(api, own_api, tmp_path, Enabled(acts=acts, others=others))
        )
        for act in acts:
            await beside.enter_async_context(at_work(api, _operator(act)))
        await beside.enter_async_context(leader_worker_sets(api, LWS_PATH))
        for path, fields in (*map(_of_act, acts), *_of_pods()):
            await here.make(path, fields)
        await _placed(here)


async def _placed(here: Racks) -> None:
    """Wait until nothing is wrong with any kind; fail with what is."""
    mapping = dict.fromkeys(_PLACED, "nothing is known of it")

    async def nothing_is_wrong() -> bool:
        problems = await _problems(here)
        mapping.clear()
        mapping.update(problems)
        return not mapping

    try:
        await until(nothing_is_wrong, "all kinds are placed", patience_s=300)
    except AssertionError as error:
        raise AssertionError(mapping) from error


def _operator(act: Act) -> Operator | None:
    if act.children is None or act.status is None:
        return None
    return Operator(act.path.format(NAME), act.children, act.status, act.ended)


def _of_act(act: Act) -> tuple[str, Object]:
    """Return where an object of an act's kind is made, and the object: large, and in one rack."""
    # What a module of acts makes may have the same template twice, which is changed once.
    document = msgspec.json.decode(msgspec.json.encode(act.make(f"on-{act.name}", NAME, LONG_S)))
    templates = [parse_path(text) for text in _TEMPLATES.get(act.name, ())]
    for path in templates:
        document = _required(document, path)
    if act.name not in _WORKERS:
        document = with_value(document, (*templates[-1][:-1], "replicas"), WORKERS)
    for text, value in _WORKERS.get(act.name, {}).items():
        document = with_value(document, parse_path(text), value)
    return act.path.format(NAME), document


def _required(obj: Object, template: Where) -> Object:
    marks = (*template, "metadata", "annotations")
    obj = with_value(obj, (*marks, REQUIRED), RACK)
    requests = (*template, "spec", "containers", 0, "resources", "requests", "cpu")
    result: Object = with_value(obj, requests, CPU)
    return result


def _of_pods() -> Iterator[tuple[str, Object]]:
    """Yield what is queued through its pods."""
    pod = _required({"spec": {}, "metadata": {}} | pods_template(CPU, LONG_S), ())
    about = {"name": "on-pod-0", "labels": {"kueue.x-k8s.io/queue-name": NAME}}
    yield PODS, {**pod, "metadata": {**pod["metadata"], **about}}
    yield (
        STATEFUL_SETS,
        _required(of_apps("StatefulSet", "on-statefulset", NAME, WORKERS), ("spec", "template")),
    )
    groups = leader_worker_set("on-lws", NAME, 1)
    groups["spec"]["leaderWorkerTemplate"]["size"] = WORKERS + 1
    for role in ("leaderTemplate", "workerTemplate"):
        groups = _required(groups, ("spec", "leaderWorkerTemplate", role))
    yield LWS_PATH, groups


async def _problems(here: Racks) -> dict[str, str]:
    """Return what is not yet, or not, as it should be, by the kind."""
    pods = (await get(here.api, PODS))["items"]
    value = (await get(here.api, WORKLOADS))["items"]
    mapping = dict[str, str]()
    for name, count in _PLACED.items():
        mine = [obj for obj in value if f"on-{name}-" in f"{obj['metadata']['name']}-"]
        problems = [text for workload in mine for text in _wrong(workload, pods)]
        there = sum(podset["count"] for workload in mine for podset in workload["spec"]["podSets"])
        if there != count:
            problems.append(f"Workloads of {there} pods")
        if problems:
            mapping[name] = "; ".join(problems)
    return mapping


def _wrong(workload: Object, pods: list[Object]) -> Iterator[str]:
    name = workload["metadata"]["name"]
    mine = [pod for pod in pods if pod["metadata"].get("annotations", {}).get(WORKLOAD) == name]
    given = workload.get("status", {}).get("admission", {}).get("podSetAssignments", [])
    if len(given) != len(workload["spec"]["podSets"]):
        yield f"{name} is not admitted"
    for podset, assigned in zip(workload["spec"]["podSets"], given, strict=False):
        of = [pod for pod in mine if _label(pod, "kueue.x-k8s.io/podset") == podset["name"]]
        if misplaced := _misplaced(podset, of, _hosts(assigned)):
            yield f"{podset['name']}: {misplaced}"


def _hosts(assigned: Object) -> list[str]:
    """Return the host of each pod of a podset, in the order of ranks."""
    if "topologyAssignment" not in assigned:
        return []
    actual_topology_assignment = msgspec.convert(assigned["topologyAssignment"], TopologyAssignment)
    return [
        topology_domain.values[-1]
        for topology_domain in unpack(topology_assignment(actual_topology_assignment))
        for _ in range(topology_domain.count)
    ]


def _misplaced(podset: Object, pods: list[Object], wanted: list[str]) -> str:
    """Return in what the pods of a podset are not where they were assigned to; empty: nothing."""
    running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
    hosts = [pod["spec"]["nodeName"] for pod in running]
    values = [pod["spec"].get("nodeSelector", {}).get(HOSTNAME) for pod in running]
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("pods that run", lambda: len(running) == len(pods) == podset["count"]),
        ("gates", lambda: not any(_gates(pod) for pod in running)),
        ("node selectors", lambda: values == hosts),
        ("hosts", lambda: Counter(hosts) == Counter(wanted)),
        ("racks", lambda: len({HOSTS[host][RACK] for host in hosts}) == 1),
        ("ranks", lambda: _ranked(podset, running, wanted)),
    )
    return next((f"{what} {hosts}" for what, holds in checks if not holds()), "")


def _ranked(podset: Object, running: list[Object], wanted: list[str]) -> bool:
    """Tell whether each pod is on the host of its rank, where the podset's pods have ranks."""
    asked = podset.get("topologyRequest", {})
    label, group = asked.get("podIndexLabel", ""), asked.get("subGroupIndexLabel", "")
    size = podset["count"] // asked.get("subGroupCount", 1)
    if not label or any(not _label(pod, label) for pod in running):
        return True
    ranks = [int(_label(pod, label)) + int(_label(pod, group) or 0) * size for pod in running]
    first = min(ranks)  # the workers of a group are numbered behind their leader
    return all(
        obj["spec"]["nodeName"] == wanted[rank - first]
        for obj, rank in zip(running, ranks, strict=True)
    )


def _label(pod: Object, key: str) -> str:
    text: str = pod["metadata"].get("labels", {}).get(key, "")
    return text


def _gates(pod: Object) -> bool:
    return any(gate["name"] == TOPOLOGY_GATE for gate in pod["spec"].get("schedulingGates", ()))
