"""What may change of an object that is queued through its pods, on a real API server.

Each row: the kind, the object as it stands, a patch, and what the refusal must hold; empty: none.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.kinds.cluster import Cluster, Manifest, eventually
from tests.parts.foreign import foreign_crd
from tidegate.kinds.names import ADMISSION_GATED_BY, PRIORITY_CLASS, QUEUE_NAME
from tidegate.kinds.policies.templates.serving import serving_guards
from tidegate.kinds.policies.templates.serving_kinds import serving

SET, GROUPS = "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"
pytestmark = pytest.mark.real


def template(cpu: str = "1", limit: str = "2", image: str = "i") -> Manifest:
    resources = {"requests": {"cpu": cpu}, "limits": {"cpu": limit}}
    container = {"name": "c", "image": image, "resources": resources}
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}}


def sets(**changed: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    selector = {"matchLabels": {"app": "a"}}
    spec = {"replicas": 1, "serviceName": "s", "selector": selector, "template": template()}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": spec | changed}


def groups(size: int = 2, replicas: int = 1, **changed: Any) -> Manifest:  # noqa: ANN401 - as above
    of_group = {"size": size, "leaderTemplate": template(), "workerTemplate": template()}
    spec = {"replicas": replicas, "leaderWorkerTemplate": of_group | changed}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "spec": spec,
    }


def of_group(**changed: Any) -> Manifest:  # noqa: ANN401 - as above
    return {"spec": {"leaderWorkerTemplate": changed}}


KEPT = "keeps its resources, nodeSelector, tolerations and affinity"
CLASS = {"metadata": {"labels": {PRIORITY_CLASS: "high"}}}
GATE = {"metadata": {"annotations": {ADMISSION_GATED_BY: "example.com/a"}}}
ROWS = {
    "image": (sets(), {"spec": {"template": template(image="j")}}, ""),
    "limit": (sets(), {"spec": {"template": template(limit="3")}}, ""),
    "request": (
        sets(),
        {"spec": {"template": template(cpu="2")}},
        f"spec.template.spec of a queued object {KEPT}",
    ),
    "gate": (sets(), GATE, "names may only be removed"),
    "class": (sets(replicas=0), CLASS, ""),  # a controller may make pods of others ready
    "class while pods are ready": (
        groups() | {"status": {"replicas": 1, "readyReplicas": 1}},
        CLASS,
        "but not be added while pods are ready",
    ),
    "workers' image": (groups(), of_group(workerTemplate=template(image="j")), ""),
    "workers' request": (
        groups(),
        of_group(workerTemplate=template(cpu="2")),
        f"workerTemplate.spec of a queued object {KEPT}",
    ),
    "leader's request": (
        groups(),
        of_group(leaderTemplate=template(cpu="2")),
        f"leaderTemplate.spec of a queued object {KEPT}",
    ),
    "size": (groups(), of_group(size=3), "size of a queued object stays while there are replicas"),
    "size without replicas": (groups(replicas=0), of_group(size=3), ""),
    "replicas": (groups(), {"spec": {"replicas": 3}}, ""),
}


@pytest.fixture(scope="module")
def made() -> set[str]:
    """Return what was installed by the tests of this module."""
    return set()


@pytest.fixture
async def guarded(cluster: Cluster, made: set[str]) -> Cluster:
    """Lend the cluster, with both kinds and their policies."""
    if not made:
        manifests = [
            foreign_crd("leaderworkerset"),
            *(each for kind in (SET, GROUPS) for each in serving_guards(serving(kind))),
        ]
        for manifest in manifests:
            assert (await cluster.apply(manifest)).status < 300
        for obj in (sets(), groups()):
            await eventually(partial(in_force, cluster, obj))
        made.add("guards")
    return cluster


async def in_force(cluster: Cluster, obj: Manifest) -> str:
    """Tell what is not in force yet: no name of a queue is refused, or the kind is not there."""
    answer = await cluster.create(named(obj, queue="Main"), dry=True)
    return "" if "is the name of a LocalQueue" in answer.message else answer.message or "accepted"


def named(obj: Manifest, queue: str = "main") -> Manifest:
    meta = {"name": "guarded", "namespace": "default", "labels": {QUEUE_NAME: queue}}
    return {**obj, "metadata": meta}


@pytest.mark.parametrize(("obj", "patch", "refusal"), ROWS.values(), ids=ROWS.keys())
async def test_what_a_workload_stands_for_stays_while_there_are_pods(
    guarded: Cluster, obj: Manifest, patch: Manifest, refusal: str
) -> None:
    manifest = named(obj)
    created = await guarded.create({key: manifest[key] for key in manifest if key != "status"})
    assert created.status == 201, created.message
    try:
        if "status" in manifest:
            await guarded.merge(manifest, {"status": manifest["status"]}, "/status")
        answer = await guarded.merge(manifest, patch)
        assert (answer.status < 300, refusal in answer.message) == (not refusal, True), (
            answer.message
        )
    finally:
        await guarded.delete(manifest)
