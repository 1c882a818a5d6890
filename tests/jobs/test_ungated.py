"""An elastic Job that runs tells whether the pods that it makes still wait behind their gate."""

from __future__ import annotations

import pytest

from tests.jobs.walking import carried_out
from tests.parts.stage import job
from tidegate.contracts.decisions import PodSetStart, StartOrdered
from tidegate.contracts.observations import JobObserved
from tidegate.jobs.batch.batch_job import KIND
from tidegate.jobs.batch.numbers import Job
from tidegate.jobs.kind import Object, Start
from tidegate.kinds.decode import read
from tidegate.model.ids import ObjectRef

ELASTIC = "kueue.x-k8s.io/elastic-job"


def started() -> Object:
    made = job()
    made["metadata"] |= {"uid": "u1", "annotations": {ELASTIC: "true"}, "generation": 1}
    reference = ObjectRef(kind="batch/job", namespace="default", name="train", uid="u1")
    given = (PodSetStart(name="main", count=1),)
    order = StartOrdered(at_us=1, workload="default/w", job=reference, podsets=given)
    return carried_out(KIND, made, Start(order=order, ledger_id="L1", seq=5))


def seen(obj: Object) -> JobObserved:
    return KIND.observe(read(obj, Job))


def test_one_that_was_started_has_its_gate_and_says_nothing() -> None:
    assert not seen(started()).ungated


@pytest.mark.parametrize("gates", [[], [{"name": "example.com/mine"}]])
def test_one_whose_template_lost_it_says_so_while_it_runs(gates: list[Object]) -> None:
    obj = started()
    obj["spec"]["template"]["spec"]["schedulingGates"] = gates
    assert seen(obj).ungated
    obj["spec"]["suspend"] = True
    assert not seen(obj).ungated, "it waits"
