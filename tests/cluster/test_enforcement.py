"""An installation ends when its policies act, or says why they do not."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest

from apiserver.api import EmbeddedApi
from tests.cluster.talking import Talk
from tests.parts.interposed import Interposed
from tests.parts.kubernetes import make_namespace
from tidegate.cluster import enforcement
from tidegate.cluster.enforcement import NotEnforcedError, wait_enforced
from tidegate.cluster.install import install, manifests_folder
from tidegate.kube.ports import Response

SUSPENDING = "mutatingadmissionpolicies/tidegate-suspend-batch-job"


def ignore(_: str) -> None:
    """Drop a message of the installation."""


async def test_without_the_policy_it_says_what_was_seen(
    embedded_api: EmbeddedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube = Talk(embedded_api, await make_namespace(embedded_api), embedded_api.compact)
    await install(embedded_api, manifests_folder(), ignore)
    await wait_enforced(embedded_api)
    await kube.remove(f"/apis/admissionregistration.k8s.io/v1/{SUSPENDING}")
    monkeypatch.setattr(enforcement, "_PATIENCE_S", 0.01)
    with pytest.raises(NotEnforcedError, match="a queued Job is not suspended when it is made"):
        await wait_enforced(embedded_api)


async def test_nothing_is_left_of_the_probes(embedded_api: EmbeddedApi) -> None:
    await install(embedded_api, manifests_folder(), ignore)
    before = embedded_api.registry.state.revision
    await wait_enforced(embedded_api)
    assert embedded_api.registry.state.revision == before


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("LocalQueue", "localqueues"), ("Workload", "workloads"), ("ClusterQueue", "clusterqueues")],
)
async def test_a_kind_that_policies_do_not_know_yet_is_waited_for(
    embedded_api: EmbeddedApi, kind: str, plural: str
) -> None:
    """A server's policies learn of a new kind only at the third question."""
    await install(embedded_api, manifests_folder(), ignore)
    asked = count(1)

    async def learn(_: str, path: str) -> Response | None:
        refusal = {"kind": "Status", "message": f"Kind={kind} not found"}
        if not path.endswith(f"/{plural}") or next(asked) >= 3:
            return None
        return Response(503, msgspec.json.encode(refusal))

    api = Interposed(embedded_api)
    api.before = learn
    await wait_enforced(api)
    assert next(asked) == 4
