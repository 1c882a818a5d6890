"""Workers whose leader counts as one of them are numbered behind it, on a real API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest

from tests.kinds.cluster import Cluster, Manifest, eventually
from tests.parts.foreign import kubeflow_crd, pods_template
from tidegate.kinds.names import POD_INDEX_OFFSET, PODSET_GROUP, QUEUE_NAME

pytestmark = pytest.mark.real
OFFSET = {POD_INDEX_OFFSET: "1"}


@pytest.fixture
async def kubeflow(cluster: Cluster, namespace: str) -> AsyncIterator[Cluster]:
    """A cluster that serves MPIJobs."""
    crd = kubeflow_crd("MPIJob", "v2beta1", "mpiReplicaSpecs")
    assert (await cluster.apply(crd)).status < 300
    await eventually(partial(_refused, cluster, mpi_job(namespace)))
    yield cluster
    await cluster.delete(crd)


async def _refused(cluster: Cluster, job: Manifest) -> str:
    answer = await cluster.create(job, dry=True)
    return answer.message if answer.status != 201 else ""


def mpi_job(namespace: str, *, first: bool = True, group: str = "", queue: str = "q") -> Manifest:
    """Return an MPIJob of two workers; ``first``: its launcher is a worker too."""
    labels = {QUEUE_NAME: queue} if queue else {}
    template = pods_template()
    del template["metadata"]
    if group:
        template["metadata"] = {"annotations": {PODSET_GROUP: group}}
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "m", "namespace": namespace, "labels": labels},
        "spec": {
            "runLauncherAsWorker": first,
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": template},
                "Worker": {"replicas": 2, "template": template},
            },
        },
    }


async def test_workers_are_numbered_behind_a_launcher_that_works_too(
    kubeflow: Cluster, namespace: str
) -> None:
    for job, noted in (
        (mpi_job(namespace), OFFSET),
        (mpi_job(namespace, first=False), None),
        (mpi_job(namespace, group="pair"), {PODSET_GROUP: "pair"}),
        (mpi_job(namespace, queue=""), None),
    ):
        made = (await kubeflow.create(job, dry=True)).body
        roles = made["spec"]["mpiReplicaSpecs"]
        assert roles["Worker"]["template"].get("metadata", {}).get("annotations") == noted
        assert roles["Launcher"] == job["spec"]["mpiReplicaSpecs"]["Launcher"]
