"""What passes by no queue: a namespace that is fenced, and kinds that Tidegate does not queue."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from tests.kinds.cluster import Cluster, Manifest, eventually
from tests.kinds.manifests import POD_SPEC, job, owned, pod
from tests.parts.webhook import free_port, prepare_webhook, webhook
from tidegate.cli.commands.manifests import manifests_of_file
from tidegate.kinds.names import ADMISSION_GATE, QUEUE_NAME, TOPOLOGY_GATE
from tidegate.kinds.policies.disabled import WARN
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

pytestmark = pytest.mark.real
FENCED = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}
integrations: {{frameworks: [batch/job, pod]}}
tidegate.dev: {{disabledKinds: {disabled}}}
"""


def policies(folder: Path, namespace: str, *names: str, disabled: str = "Warn") -> list[Manifest]:
    """Return these policies for one namespace alone, under names that no other test has."""
    config = folder / "configuration.yaml"
    config.write_text(FENCED.format(namespace=namespace, disabled=disabled))
    mapping = {
        (obj["kind"], obj["metadata"]["name"]): obj for obj in manifests_of_file(str(config))
    }
    return [renamed(fields, namespace) for (_, name), fields in mapping.items() if name in names]


def renamed(manifest: Manifest, end: str) -> Manifest:
    """Return a policy or its binding under a name of its own."""
    name = f"{manifest['metadata']['name']}-{end}"
    spec = dict(manifest["spec"])
    if "policyName" in spec:
        spec["policyName"] = f"{spec['policyName']}-{end}"
    return manifest | {"metadata": manifest["metadata"] | {"name": name}, "spec": spec}


def deployment(namespace: str) -> Manifest:
    metadata = {"name": "serve", "namespace": namespace, "labels": {QUEUE_NAME: "main"}}
    pods = {
        "metadata": {"labels": {"app": "serve"}},
        "spec": {**POD_SPEC, "restartPolicy": "Always"},
    }
    spec = {"selector": {"matchLabels": {"app": "serve"}}, "template": pods}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


async def is_gated(cluster: Cluster, manifest: Manifest) -> str:
    answer = await cluster.create(manifest, dry=True)
    gates = answer.body.get("spec", {}).get("schedulingGates", [])
    wanted = [{"name": ADMISSION_GATE}, {"name": TOPOLOGY_GATE}]
    return "" if gates == wanted else f"{answer.message} gates: {gates}"


async def is_suspended(cluster: Cluster, manifest: Manifest) -> str:
    answer = await cluster.create(manifest, dry=True)
    suspended = answer.body.get("spec", {}).get("suspend")
    return "" if suspended is True else f"{answer.message} suspend: {suspended}"


async def is_refused(cluster: Cluster, manifest: Manifest) -> str:
    answer = await cluster.create(manifest, dry=True)
    return "" if "this kind is not enabled" in answer.message else f"status {answer.status}"


async def is_fenced(cluster: Cluster, namespace: str) -> None:
    await eventually(partial(is_gated, cluster, pod(namespace)))
    await eventually(partial(is_gated, cluster, owned(pod(namespace), "apps/v1", "ReplicaSet")))
    await eventually(partial(is_suspended, cluster, job(namespace)))
    child = await cluster.create(owned(pod(namespace), "batch/v1", "Job"), dry=True)
    assert "schedulingGates" not in child.body["spec"]  # its Job waits, which has no pods then


@pytest.mark.skipif(
    os.environ.get("TIDEGATE_TEST_ADMISSION") == "webhook",
    reason="No mutating policies here: the webhook's form of this test stands below.",
)
async def test_nothing_of_a_fenced_namespace_is_made_to_run(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    names = "tidegate-suspend-batch-job", "tidegate-gate-pods"
    for policy in policies(tmp_path, namespace, *names):
        assert (await cluster.apply(policy)).status < 300
    await is_fenced(cluster, namespace)


async def test_the_webhook_fences_a_namespace_in_place_of_the_policies(
    cluster: Cluster, installed: str, namespace: str, tmp_path: Path
) -> None:
    config, port = tmp_path / "configuration.yaml", free_port()
    config.write_text(FENCED.format(namespace=namespace, disabled="Warn"))
    async with connect(Access(kubeconfig=installed)) as api:
        await prepare_webhook(api, manifests_of_file(str(config)), port, namespace)
    with webhook(installed, config, tmp_path, port, namespace):
        await is_fenced(cluster, namespace)
        elsewhere = await cluster.create(job("default"), dry=True)
        assert elsewhere.body["spec"].get("suspend", False) is False


async def test_a_queued_object_of_a_disabled_kind_is_refused_where_that_is_asked_for(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    assert (await cluster.create(deployment(namespace), dry=True)).status == 201
    for policy in policies(tmp_path, namespace, "tidegate-disabled-kinds", disabled="Deny"):
        assert (await cluster.apply(policy)).status < 300
    await eventually(partial(is_refused, cluster, deployment(namespace)))


def test_a_queued_object_of_a_disabled_kind_is_warned_of_otherwise(tmp_path: Path) -> None:
    _, binding = policies(tmp_path, "any", "tidegate-disabled-kinds")
    assert binding["spec"]["validationActions"] == list(WARN)
