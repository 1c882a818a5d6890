"""A job that Kueue started is taken over as it runs: kind by kind, from what Kueue made of it.

The cases hold the object after Kueue's start. It has to count as running, under the Workload that
Kueue made for it, and to be charged what it was charged while it waited; adopted it is ordered
nothing. And what Tidegate started has to be what Kueue would have made of it.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.kinds.observed.answers import with_beside
from tests.kinds.observed.cases import Case, Object, kinds
from tidegate.contracts.observations import JobObserved
from tidegate.core.quota.requests import pod_total
from tidegate.errors import TidegateError
from tidegate.jobs.kind import JobKind
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.decode import read


def kind_of(obj: Object) -> JobKind[Any] | None:
    group, _, _ = str(obj["apiVersion"]).rpartition("/")
    job_kinds = (kind for kind in JOB_KINDS.values() if kind.members is None)
    return next(
        (
            job_kind
            for job_kind in job_kinds
            if (job_kind.group, job_kind.kind) == (group, obj["kind"])
        ),
        None,
    )


def started(case: Case) -> Object | None:
    """Return the object as Kueue starts it, None if it did not."""
    run = case.expected.get("run", {}).get("object")
    if run is None or case.expected.get("finished", {}).get("finished"):
        return None
    keys = ("apiVersion", "kind", "status", "beside")
    return {**{key: case.object[key] for key in keys if key in case.object}, **run}


def charged(seen: JobObserved, names: set[str]) -> dict[str, dict[str, int]]:
    return {
        podset.name: {name: value * podset.count for name, value in pod_total(podset).items()}
        for podset in seen.podsets
        if podset.name in names
    }


def observed(kind: JobKind[Any], obj: Object) -> JobObserved | None:
    """Observe an object, None if Tidegate refuses it."""
    try:
        seen: JobObserved = kind.observe(read(obj, kind.object_type))
    except TidegateError:
        return None
    return seen


CASES = [
    pytest.param(name, [with_beside(case) for case in cases], id=name)
    for name, cases in kinds()
    if any(started(case) for case in cases)
]
PARTIAL = "kueue.x-k8s.io/job-min-parallelism"


@pytest.mark.parametrize(("name", "cases"), CASES)
def test_what_kueue_started_runs_on_under_its_workload_and_on_its_quota(
    name: str, cases: list[Case]
) -> None:
    tried = 0
    for case in cases:
        kind, after = kind_of(case.object), started(case)
        if kind is None or after is None or "podSetsError" in case.expected:
            continue
        before = observed(kind, case.object)
        if before is None:
            continue
        seen = observed(kind, after)
        tried += 1
        assert seen is not None, case.id
        assert not seen.state.suspended, case.id
        assert seen.workload == before.workload, case.id
        assert seen.workload.partition("/")[2] == case.expected["workloadName"], case.id
        if PARTIAL not in case.object["metadata"].get("annotations", {}):
            # The cases were written from types that leave a 0 out.
            some = {podset.name for podset in before.podsets if podset.count}
            assert charged(seen, some) == charged(before, some), case.id
    assert tried > 0, name
