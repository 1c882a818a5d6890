"""For which decision a Workload was deactivated is reported with whether it is active."""

from __future__ import annotations

import pytest

from tests.ingest.scene import session
from tests.ingest.test_check_states import PATH
from tests.ingest.test_joins import WORKLOADS, workload_of
from tests.parts.stage import JOBS, Stage, alongside, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved

NOTE = "tidegate.dev/deactivated"


@pytest.mark.parametrize("direct", [False, True])
def test_the_decision_is_reported_with_what_was_written_for_it(*, direct: bool) -> None:
    async def run() -> None:
        stage = Stage()
        made = workload_of(stage.make(JOBS, job()))
        if direct:
            del made["metadata"]["ownerReferences"]
        stage.make(WORKLOADS, made)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            noted = {"metadata": {"annotations": {NOTE: "ledger/7"}}}
            stage.change(PATH, {**noted, "spec": {"active": False}})
            observations = await stage.hear(JobObserved, lambda observation: not observation.active)
            assert observations.deactivated == "ledger/7"
            stage.change(PATH, {"spec": {"active": True}})
            observations = await stage.hear(
                JobObserved,
                lambda observation: observation.active and observation.deactivated != "",
            )
            assert (observations.kind == "workload") is direct

    run_virtually(run())
