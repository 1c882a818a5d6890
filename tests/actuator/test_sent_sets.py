"""A StatefulSet that a manager sent: only its own copy's admission lets its pods go."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.ungating.pod_ungater import JobPods
from actuator.ungating.serving import ServingPods
from tests.ingest.test_serving import PODS, SETS, pod, served, stateful
from tests.parts.foreign import pods_template
from tests.parts.stage import KUEUE, Object, Stage, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.serving import ordering
from tidegate.kinds.decode import read
from tidegate.kinds.names import PREBUILT_WORKLOAD
from tidegate.kinds.pods import Pod

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"


def admitted(stage: Stage, owner: Object) -> None:
    """Make the copy ``sent``, admitted with two pods, that an object owns."""
    podsets = [{"name": "main", "count": 2, "template": pods_template()}]
    copy = kueue("Workload", "sent", queueName="main", podSets=podsets)
    meta = owner["metadata"]
    head = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True}
    copy["metadata"]["ownerReferences"] = [{**head, "name": meta["name"], "uid": meta["uid"]}]
    stage.make(WORKLOADS, copy)
    held = {"status": "True", "reason": "r", "message": "", "lastTransitionTime": AT}
    conditions = [{"type": kind, **held} for kind in ("QuotaReserved", "Admitted")]
    assigned = [{"name": "main", "count": 2}]
    admission = {"clusterQueue": "q", "podSetAssignments": assigned}
    status = {"admission": admission, "conditions": conditions}
    stage.change(f"{WORKLOADS}/sent/status", {"status": status})


AT = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("own", [True, False], ids=["its own", "another's"])
def test_the_pods_of_a_set_are_let_go_by_the_copy_that_it_owns(*, own: bool) -> None:
    async def run() -> None:
        stage = served()
        obj = stateful()
        obj["metadata"]["annotations"] = {PREBUILT_WORKLOAD: "sent"}
        made, other = stage.make(SETS, obj), stage.make(SETS, stateful("other"))
        start = (PodSetStart(name="main", count=2),)
        stage.change(f"{SETS}/db", ordering.decision_patch(None, "ledger/7", start))
        admitted(stage, made if own else other)
        waiting = read(stage.make(PODS, pod("db-0", made)), Pod)
        calls = Calls(stage.embedded, Metrics(CollectorRegistry()))
        standing = JobPods(pods={"db-0": waiting}, waiting=["db-0"])
        assert len(await ServingPods().ungating_patches(calls, standing) or ()) == int(own)

    run_virtually(run())
