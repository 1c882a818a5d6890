"""No policy may block a write that it does not forbid: not by an error, nor by a missing CRD."""

from __future__ import annotations

import re

import pytest

from tests.kinds.cluster import Cluster, documents, files
from tests.kinds.installing import all_served, install_crds
from tests.kinds.manifests import job, pod
from tidegate.kinds.crds import crds
from tidegate.kinds.manifests import policies
from tidegate.kinds.policies.frameworks import NAMES

FAILED = re.compile(
    r"^apiserver_(?:mutating_admission_policy_check_total\{"
    r'|validating_admission_policy_check_total\{enforcement_action="allow",)'
    r'error_type="(?!no_error).*',
    re.MULTILINE,
)


def test_every_policy_ignores_its_own_failure() -> None:
    specs = [policy["spec"] for policy in policies(NAMES) if not policy["kind"].endswith("Binding")]
    assert {spec["failurePolicy"] for spec in specs} == {"Ignore"}


def test_every_policy_is_bound_and_skips_what_it_cannot_find() -> None:
    current_policies = policies(NAMES)
    named = {
        obj["metadata"]["name"] for obj in current_policies if not obj["kind"].endswith("Binding")
    }
    bindings = [obj["spec"] for obj in current_policies if obj["kind"].endswith("Binding")]
    assert {spec["policyName"] for spec in bindings} == named
    missing = {
        spec["paramRef"]["parameterNotFoundAction"] for spec in bindings if "paramRef" in spec
    }
    assert missing == {"Allow"}


@pytest.mark.real
async def test_no_policy_fails_on_any_sample(cluster: Cluster, namespace: str) -> None:
    before = FAILED.findall(await cluster.read_text("/metrics"))
    for path in (*files("samples"), *files("defaults")):
        for manifest in documents(path):
            if "kind" in manifest:
                await cluster.create(manifest, dry=True)
    await cluster.create(job(namespace, queue="main"))
    await cluster.merge(job(namespace), {"spec": {"suspend": False}})
    await cluster.create(pod(namespace, queue="main"), dry=True)
    assert FAILED.findall(await cluster.read_text("/metrics")) == before


@pytest.mark.real
async def test_jobs_and_pods_can_be_made_without_the_crds(cluster: Cluster, namespace: str) -> None:
    for crd in crds():
        await cluster.delete(crd)
    try:
        for queue in ("", "main"):
            assert (await cluster.create(job(namespace, queue=queue), dry=True)).message == ""
            assert (await cluster.create(pod(namespace, queue=queue), dry=True)).message == ""
    finally:
        await install_crds(cluster)
        await all_served(cluster)
