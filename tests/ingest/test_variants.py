"""What checks say on a variant that the actuator wrote, on the embedded API server."""

from __future__ import annotations

import asyncio

from tests.ingest.scene import jobs, session
from tests.ingest.test_check_states import since
from tests.ingest.test_joins import ADMISSION, AT, RESERVED, WORKLOADS, workload_of
from tests.parts.stage import JOBS, Object, Stage, alongside, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved

READY = {"name": "capacity", "state": "Ready", "message": "", "lastTransitionTime": AT}
HOLDS = {
    "conditions": [{**RESERVED, "lastTransitionTime": AT}, since("L1/7")],
    "admission": ADMISSION,
    "admissionChecks": [READY],
}


def variant_of(made: Object, parent: Object) -> Object:
    """Return a variant of a Job's Workload, as the actuator makes it."""
    obj = workload_of(made, "job-train-fast")
    meta = parent["metadata"]
    owner = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "controller": True}
    obj["metadata"] |= {
        "labels": {"kueue.x-k8s.io/job-uid": made["metadata"]["uid"]},
        "annotations": {
            "kueue.x-k8s.io/workload-allowed-resource-flavors": "fast",
            "tidegate.dev/decision": "L1/7",
            "tidegate.dev/variant-for": "batch/job/train",
        },
        "ownerReferences": [{**owner, "name": meta["name"], "uid": meta["uid"]}],
    }
    return obj


def test_what_a_check_says_of_a_variant_it_says_of_the_job() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, job())
        parent = stage.make(WORKLOADS, workload_of(made))
        stage.make(WORKLOADS, variant_of(made, parent))
        path = f"{WORKLOADS}/job-train-fast"
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.change(path, {"spec": {"active": False}})  # no override of the job
            stage.change(f"{path}/status", {"status": HOLDS})
            await stage.hear(JobObserved, lambda obs: bool(obs.checks))
            stage.remove(path)
            await stage.hear(JobObserved, lambda obs: not obs.checks)
            await asyncio.sleep(5)
        seen = await jobs(stage)
        assert {obs.kind for obs in seen} == {"batch/job"}
        assert all(obs.active for obs in seen)
        [(since, checks)] = {obs.checks_since: obs.checks for obs in seen if obs.checks}.items()
        assert (since, [(state.name, state.state) for state in checks]) == (
            "L1/7",
            [("capacity", "Ready")],
        )

    run_virtually(run())
