"""What admission checks' controllers write on a Workload is told of the job that it stands for."""

from __future__ import annotations

from tests.ingest.scene import session
from tests.ingest.test_joins import AT, WORKLOADS, workload_of
from tests.parts.stage import JOBS, Object, Stage, alongside, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import CheckSeen, Heartbeat, JobObserved
from tidegate.kinds.names import CHECKS_SINCE, PRIORITY_BOOST
from tidegate.model.podset import PodSetUpdate, Toleration

PATH = f"{WORKLOADS}/job-train"
UPDATE = {
    "name": "main",
    "nodeSelector": {"rack": "r1"},
    "tolerations": [{"key": "licensed", "operator": "Exists"}],
}
STATE = {
    "name": "budget",
    "state": "Retry",
    "message": "m" * 5_000,
    "lastTransitionTime": AT,
    "requeueAfterSeconds": 30,
    "podSetUpdates": [UPDATE],
}
SEEN = CheckSeen(
    name="budget",
    state="Retry",
    message="m" * 1_024,
    requeue_after_s=30,
    updates=(
        PodSetUpdate(
            name="main",
            node_selector={"rack": "r1"},
            tolerations=(Toleration(key="licensed", operator="Exists"),),
        ),
    ),
)


def since(decision: str) -> Object:
    """Return the condition that says since when states of checks count."""
    fields = {"status": "True", "reason": "Reset", "lastTransitionTime": AT}
    return {"type": CHECKS_SINCE, "message": decision, **fields}


def test_states_are_reported_with_the_decision_that_they_follow() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, workload_of(stage.make(JOBS, job())))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.change(f"{PATH}/status", {"status": {"admissionChecks": [STATE]}})
            observations = await stage.hear(
                JobObserved, lambda observation: bool(observation.checks)
            )
            assert (observations.checks, observations.checks_since) == ((SEEN,), "")
            stage.change(f"{PATH}/status", {"status": {"conditions": [since("ledger/7")]}})
            observations = await stage.hear(
                JobObserved, lambda observation: observation.checks_since != ""
            )
            assert (observations.checks, observations.checks_since) == ((SEEN,), "ledger/7")

    run_virtually(run())


def test_a_boost_of_the_workload_is_one_of_its_job() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, workload_of(stage.make(JOBS, job())))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.change(PATH, {"metadata": {"annotations": {PRIORITY_BOOST: "-3"}}})
            observations = await stage.hear(
                JobObserved, lambda observation: observation.priority_boost != 0
            )
            assert observations.priority_boost == -3

    run_virtually(run())
