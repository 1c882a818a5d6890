"""CRDs first, then policies, then waiting until all of it is in force."""

from __future__ import annotations

import secrets
from functools import partial

from tests.kinds.cluster import Cluster, Manifest, documents, eventually, files
from tests.parts.webhook import install_webhook
from tidegate.cluster.enforcement import wait_enforced
from tidegate.kinds.crds import crds
from tidegate.kinds.manifests import policies
from tidegate.kinds.policies.forms import (
    Check,
    Scope,
    Target,
    apply_patch,
    mutating_policy,
    set_text_patch,
    validating_policy,
)
from tidegate.kinds.policies.frameworks import NAMES
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

_CONFIG_MAPS = Scope(
    targets=[Target(group="", versions=("v1",), resources=("configmaps",))],
    conditions={"canary": "object.metadata.name == 'canary'"},  # not those of tests beside
)
_PROBE: Manifest = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "canary", "namespace": "default"},
}


async def install(kubeconfig: str) -> None:
    """Apply everything, and wait for it.

    The API server takes policies up in the order in which they come, within seconds: once the last
    two, which do nothing else, are in force, so are all before them.
    """
    async with connect(Access(kubeconfig=kubeconfig)) as api:
        cluster = Cluster(api)
        await install_crds(cluster)
        song = secrets.token_hex(8)
        for manifest in [*policies(NAMES), *_canaries(song)]:
            await _applied(cluster, manifest)
        await eventually(partial(_in_force, cluster, song))
        await all_served(cluster)


async def install_asking(kubeconfig: str, port: int) -> None:
    """Apply everything, with a webhook at a port of loopback in place of mutating policies."""
    async with connect(Access(kubeconfig=kubeconfig)) as api:
        await install_crds(Cluster(api))
        await install_webhook(api, policies(NAMES), port)


async def wait_answered(kubeconfig: str) -> None:
    """Wait until the webhook is asked, and every kind is served."""
    async with connect(Access(kubeconfig=kubeconfig)) as api:
        await wait_enforced(api)
        await all_served(Cluster(api))


async def install_crds(cluster: Cluster) -> None:
    """Apply the CRDs and wait until each is established."""
    for manifest in crds():
        await _applied(cluster, manifest)
    for manifest in crds():
        await eventually(partial(_established, cluster, manifest))


async def all_served(cluster: Cluster) -> None:
    """Wait until objects of every kind can be made.

    For some seconds after a CRD came the API server answers 503 to writes that a mutating policy is
    about, because it has not learned the kind's schema yet.
    """
    for path in files("samples/v1beta2"):
        await eventually(partial(_served, cluster, documents(path)[0]))


async def _served(cluster: Cluster, sample: Manifest) -> str:
    answer = await cluster.create(sample, dry=True)
    return answer.message if answer.status in {404, 503} else ""


async def _applied(cluster: Cluster, manifest: Manifest) -> None:
    answer = await cluster.apply(manifest)
    assert answer.status < 300, answer.message


async def _established(cluster: Cluster, crd: Manifest) -> str:
    conditions = (await cluster.get(crd)).body.get("status", {}).get("conditions", [])
    true = [condition["type"] for condition in conditions if condition["status"] == "True"]
    return "" if "Established" in true else f"{crd['metadata']['name']} is not established"


def _canaries(song: str) -> list[Manifest]:
    given = apply_patch(set_text_patch("labels", "canary", f"'{song}'"))
    check = Check("!('refused' in object.?data.orValue({}))", song)
    return [
        *mutating_policy("canary", _CONFIG_MAPS, [given]),
        *validating_policy("canary", _CONFIG_MAPS, [check]),
    ]


async def _in_force(cluster: Cluster, song: str) -> str:
    changed = await cluster.create(_PROBE | {"data": {}}, dry=True)
    refused = await cluster.create(_PROBE | {"data": {"refused": ""}}, dry=True)
    if changed.body.get("metadata", {}).get("labels") != {"canary": song}:
        return "no mutating policy is in force"
    return "" if song in refused.message else "no validating policy is in force"
