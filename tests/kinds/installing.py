"""CRDs first, then policies, then waiting until all of it is in force."""

from __future__ import annotations

from functools import partial

from tests.kinds.cluster import Cluster, Manifest, eventually
from tidegate.kinds.crds import crds
from tidegate.kinds.manifests import policies
from tidegate.kinds.policies.forms import Check, Scope, Target, applied, mutating, validating
from tidegate.kinds.policies.frameworks import FRAMEWORKS
from tidegate.kube.client import Access, connect

ALL = ("pod", *(one.name for one in FRAMEWORKS))
"""Every job kind: more than a cluster is given by default, so that each policy is tried."""

_CONFIG_MAPS = Scope(targets=[Target(group="", versions=("v1",), resources=("configmaps",))])
_MARK = "Object{metadata: Object.metadata{labels: {'canary': 'sings'}}}"
_CANARIES = [
    *mutating("canary", _CONFIG_MAPS, [applied(_MARK)]),
    *validating("canary", _CONFIG_MAPS, [Check("!('refused' in object.data)", "canary")]),
]
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
        for manifest in [*policies(ALL), *_CANARIES]:
            await _applied(cluster, manifest)
        await eventually(partial(_in_force, cluster))


async def install_crds(cluster: Cluster) -> None:
    """Apply the CRDs and wait until each is established."""
    for manifest in crds():
        await _applied(cluster, manifest)
    for manifest in crds():
        await eventually(partial(_established, cluster, manifest))


async def _applied(cluster: Cluster, manifest: Manifest) -> None:
    answer = await cluster.apply(manifest)
    assert answer.status < 300, answer.message


async def _established(cluster: Cluster, crd: Manifest) -> str:
    conditions = (await cluster.get(crd)).body.get("status", {}).get("conditions", [])
    true = [one["type"] for one in conditions if one["status"] == "True"]
    return "" if "Established" in true else f"{crd['metadata']['name']} is not established"


async def _in_force(cluster: Cluster) -> str:
    changed = await cluster.create(_PROBE | {"data": {}}, dry=True)
    refused = await cluster.create(_PROBE | {"data": {"refused": ""}}, dry=True)
    if "labels" not in changed.body.get("metadata", {}):
        return "no mutating policy is in force"
    return "" if "canary" in refused.message else "no validating policy is in force"
