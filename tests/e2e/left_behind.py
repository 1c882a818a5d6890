"""Jobs of every kind as a running Kueue leaves them: started, each with its admitted Workload.

What a start puts into an object is taken from the modules, without Tidegate's marks: that this is
what Kueue puts in, the observed cases show.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from tests.e2e.act import Act
from tests.e2e.cast import KUEUE, define, post, until
from tests.e2e.test_pods import runs
from tests.e2e.test_serving import leader_worker_set, of_apps
from tests.jobs.walking import carried_out
from tests.parts.foreign import pods_template
from tidegate.contracts.decisions import PodSetStart, StartOrdered
from tidegate.core.quota.requests import pod_total
from tidegate.jobs.job_metadata import workload_name
from tidegate.jobs.kind import JobKind, Start
from tidegate.jobs.registry import JOB_KINDS, SETS
from tidegate.jobs.templates.paths import Path, merge_patch, parse_path, with_value
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Toleration
from tidegate.kinds.podsets import toleration
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSet

Object = dict[str, Any]
QUEUE, MANAGED = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/managed"
PARENT = "kueue.x-k8s.io/pod-suspending-parent"
GROUP, TOTAL = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
IN_USE = "kueue.x-k8s.io/resource-in-use"
LWS_TEMPLATES: tuple[Path, ...] = (
    ("spec", "leaderWorkerTemplate", "leaderTemplate"),
    ("spec", "leaderWorkerTemplate", "workerTemplate"),
)
LONG_S = 3_600.0
MILLI_NANO = 1_000_000
SMALL_MILLI = 200
"""CPU of a pod: the nodes have room for as many as there are kinds."""


class Kueue:
    """A Kueue that made and started all in one namespace, whose queue and flavor have its name."""

    def __init__(self, api: KubernetesApi, namespace: str) -> None:
        self.api, self.namespace = api, namespace
        self.path = f"/apis/{KUEUE}/namespaces/{namespace}/workloads"
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self.cpu_milli = 0  # that is admitted

    async def start(self, act: Act) -> None:
        """Make a job of a kind that a field suspends, and start it."""
        here, kind = replace(act, namespace=self.namespace), JOB_KINDS[act.framework]
        fields = here.make(act.name, self.namespace, LONG_S)
        fields = with_value(_small(fields), parse_path(here.suspend), value=True)
        answer = await post(self.api, here.collection, fields)
        assert answer.status == 201, answer.body
        made = {"status": {}, **msgspec.json.decode(answer.body)}
        beside = [await self.read(path) for path in kind.referred_paths(made)]
        made |= {"beside": beside} if beside else {}
        seen = kind.observe(read(made, kind.object_type)).podsets
        await self.workload(kind, made["metadata"], kind.podsets(made), seen)
        order = StartOrdered(
            at_us=1,
            workload="w",
            job=ObjectRef(kind=kind.name, namespace=self.namespace, name=act.name, uid="u"),
            podsets=tuple(map(self.given, seen)),
        )
        started = carried_out(kind, made, Start(order=order, ledger_id="k", seq=1))
        path = f"{here.collection}/{act.name}"
        await self.change(path, without_marks(merge_patch(made, started)))

    async def pod(self, name: str, group: str = "", total: str = "") -> Object:
        """Make a pod that was let go, perhaps one of a group; return it."""
        obj = _small(pods_template("1", LONG_S))
        labels = {QUEUE: self.namespace, MANAGED: "true"} | ({GROUP: group} if group else {})
        notes = obj["metadata"]["annotations"] | ({TOTAL: total} if total else {})
        meta = {"name": name, "labels": labels, "annotations": notes, "finalizers": [MANAGED]}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": obj["spec"]}
        answer = await post(self.api, self.pods, made)
        assert answer.status == 201, answer.body
        shown: Object = msgspec.json.decode(answer.body)
        return shown

    async def alone(self, name: str) -> None:
        """Make a pod that is a job by itself."""
        await self.of_pod(await self.pod(name))

    async def of_pod(self, obj: Object) -> None:
        """Make the Workload of a pod."""
        kind = JOB_KINDS["pod"]
        seen = kind.observe(read(obj, kind.object_type)).podsets
        await self.workload(kind, obj["metadata"], kind.podsets(obj), seen)

    async def group(self, name: str) -> None:
        """Make two pods that are a job together."""
        pods = [await self.pod(f"{name}-{at}", group=name, total="2") for at in range(2)]
        kind = JOB_KINDS["pod-group"]
        podsets, owners = kind.podsets({"items": pods}), [_owner("v1", "Pod", pod) for pod in pods]
        seen = [PodSet(name=podset["name"], count=podset["count"]) for podset in podsets]
        meta = {"name": name, "annotations": {"kueue.x-k8s.io/is-group-workload": "true"}}
        await self.admit(
            {**meta, "ownerReferences": owners}, podsets, [(SMALL_MILLI, podset) for podset in seen]
        )

    async def serve(self, name: str, path: str, obj: Object) -> None:
        """Make a set whose pods are let go, and the Workload of its pods."""
        parts = SETS[name]
        answer = await post(self.api, path, obj)
        assert answer.status == 201, answer.body
        made: Object = msgspec.json.decode(answer.body)
        meta, row = made["metadata"], parts.row
        own = f"{meta['name']}-0" if parts.layout.grouped else meta["name"]
        seen = row.observe(read(made, row.object_type)).podsets
        await self.workload(row, meta, row.podsets(made), seen, own=own)

    async def deploy(self, name: str) -> None:
        """Make a Deployment of two pods that are let go, and the Workload of each."""
        fields = marked(_small(of_apps("Deployment", name, self.namespace, 2)), "deployment")
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments"
        assert (await post(self.api, path, fields)).status == 201
        pods = list[Object]()

        async def made() -> bool:
            items = (await self.read(self.pods))["items"]
            pods[:] = [obj for obj in items if obj["metadata"]["name"].startswith(f"{name}-")]
            return len(pods) == 2

        await until(made, "the Deployment has pods")
        for pod in pods:
            await self.of_pod(pod)

    def given(self, podset: PodSet) -> PodSetStart:
        """Return what a start gives."""
        actual_toleration = Toleration(key="spot", operator="Exists", effect="NoSchedule")
        return PodSetStart(
            name=podset.name,
            count=podset.min_count or podset.count,
            node_selector={"tide": "spring"},
            tolerations=(toleration(actual_toleration),),
            labels={"kueue.x-k8s.io/podset": podset.name},
        )

    async def workload(
        self,
        kind: JobKind[Any],
        meta: Object,
        podsets: list[Object],
        seen: tuple[PodSet, ...],
        own: str = "",
    ) -> None:
        """Make an object's Workload; ``own`` is what it is called after, if not the object."""
        name = workload_name(kind.kind, kind.group, own or meta["name"], meta["uid"])
        owner = _owner(kind.api_version, kind.kind, {"metadata": meta})
        labels = {"kueue.x-k8s.io/job-uid": meta["uid"]}
        metadata = {
            "name": name,
            "labels": labels,
            "ownerReferences": [{**owner, "controller": True}],
        }
        counts = [(podset.min_count or podset.count, podset) for podset in seen]
        cpus = [pod_total(podset).get("cpu", 0) // MILLI_NANO for _, podset in counts]
        await self.admit(
            metadata,
            podsets,
            [
                (cpu, msgspec.structs.replace(podset, count=count))
                for cpu, (count, podset) in zip(cpus, counts, strict=True)
            ],
        )

    async def admit(
        self, meta: Object, podsets: list[Object], asked: list[tuple[int, PodSet]]
    ) -> None:
        """Make a Workload with quota for so much CPU a pod, and let it be admitted."""
        head: Object = {"apiVersion": KUEUE, "kind": "Workload"}
        spec = {"queueName": self.namespace, "priority": 0, "podSets": podsets}
        made = {**head, "metadata": {**meta, "finalizers": [IN_USE]}, "spec": spec}
        answer = await post(self.api, self.path, made)
        assert answer.status == 201, answer.body
        given = [
            {
                "name": podset.name,
                "count": podset.count,
                "flavors": {"cpu": self.namespace},
                "resourceUsage": {"cpu": _written(cpu * podset.count)},
            }
            for cpu, podset in asked
        ]
        self.cpu_milli += sum(cpu * podset.count for cpu, podset in asked)
        documents = [_condition(text) for text in ("QuotaReserved", "Admitted")]
        admission = {"clusterQueue": self.namespace, "podSetAssignments": given}
        status = {"status": {"conditions": documents, "admission": admission}}
        await self.change(f"{self.path}/{meta['name']}/status", status)

    async def change(self, path: str, patch: Object) -> None:
        """Merge something into an object."""
        body = msgspec.json.encode(patch)
        answer = await self.api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        assert answer.status == 200, answer.body

    async def read(self, path: str) -> Object:
        """Return what the API server has there."""
        document: Object = msgspec.json.decode((await self.api.request("GET", path)).body)
        return document

    async def running(self) -> dict[str, str]:
        """Return the names of all pods that run, by uid."""
        items = (await self.read(self.pods))["items"]
        return {obj["metadata"]["uid"]: obj["metadata"]["name"] for obj in items if runs(obj)}


def _small(obj: Object) -> Object:
    """Return an object whose pods ask for less than a core."""
    text = msgspec.json.encode(obj).replace(b'"cpu":"1"', f'"cpu":"{SMALL_MILLI}m"'.encode())
    small: Object = msgspec.json.decode(text)
    return small


def marked(obj: Object, parent: str, *places: Path) -> Object:
    """Return an object whose pod templates bear what Kueue's webhook writes into them."""
    for place in places or (("spec", "template"),):
        for field, key, value in (
            ("annotations", PARENT, parent),
            ("labels", MANAGED, "true"),
            ("labels", QUEUE, obj["metadata"]["labels"][QUEUE]),
        ):
            obj = with_value(obj, (*place, "metadata", field, key), value)
    return obj


def without_marks(patch: Object) -> Object:
    """Return a patch without what Tidegate alone writes."""
    meta = patch.get("metadata", {})
    notes = {
        key: value
        for key, value in meta.get("annotations", {}).items()
        if not key.startswith("tidegate.dev/")
    }
    return {**patch, "metadata": {**meta, "annotations": notes}}


async def define_kinds(api: KubernetesApi, acts: tuple[Act, ...], *others: Object) -> None:
    """Define the kinds of acts and what their objects refer to."""
    crds = {act.crd["metadata"]["name"]: act.crd for act in acts if act.crd is not None}
    for manifest in (*crds.values(), *others, *(manifest for act in acts for manifest in act.also)):
        await define(api, manifest)


def served(namespace: str) -> dict[str, tuple[str, Object]]:
    """Return a collection and an object of each kind that is queued through its pods."""
    lws = leader_worker_set("llm", namespace, 1)
    named = "leaderworkerset.x-k8s.io/leaderworkerset"
    stateful = of_apps("StatefulSet", "db", namespace, 2)
    stateful["spec"]["podManagementPolicy"] = "Parallel"
    return {
        "statefulset": (
            f"/apis/apps/v1/namespaces/{namespace}/statefulsets",
            marked(_small(stateful), "statefulset"),
        ),
        named: (
            f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{namespace}/leaderworkersets",
            marked(_small(lws), named, *LWS_TEMPLATES),
        ),
    }


def _written(milli: int) -> str:
    """Return CPU as Kubernetes writes it."""
    cores, rest = divmod(milli, 1_000)
    return f"{milli}m" if rest else str(cores)


def _owner(version: str, kind: str, obj: Object) -> Object:
    meta = obj["metadata"]
    return {"apiVersion": version, "kind": kind, "name": meta["name"], "uid": meta["uid"]}


def _condition(kind: str) -> Object:
    at = "2026-01-01T00:00:00Z"
    condition = {"type": kind, "status": "True", "reason": kind, "message": ""}
    return {**condition, "lastTransitionTime": at}
