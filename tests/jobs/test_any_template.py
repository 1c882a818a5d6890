"""Whatever a template holds and whatever is put in: what a stop leaves is what the owner wrote."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.jobs.walking import carried_out, merged
from tests.parts.drawn import drawn
from tests.parts.foreign import declarations
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.jobs.batch import jobset
from tidegate.jobs.declared import declared_kind
from tidegate.jobs.kind import JobKind, Refused, Start, Stop
from tidegate.kinds import names
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Toleration

Object = dict[str, Any]
KEYS = ("a", "b", "example.com/c")
MAPS = st.dictionaries(st.sampled_from(KEYS), st.just("v"))
TOLERATIONS = st.lists(
    st.fixed_dictionaries({"key": st.sampled_from(KEYS), "operator": st.just("Exists")})
)
OWN_GATES = st.lists(st.fixed_dictionaries({"name": st.sampled_from(KEYS)}), unique_by=str)
GATES = st.sampled_from([(), (names.TOPOLOGY_GATE,), (names.TOPOLOGY_GATE, "a")])
METADATA = st.fixed_dictionaries({}, optional={"labels": MAPS, "annotations": MAPS})
SPECS = st.fixed_dictionaries(
    {"containers": st.just([{"name": "c"}])},
    optional={"nodeSelector": MAPS, "tolerations": TOLERATIONS, "schedulingGates": OWN_GATES},
)
TEMPLATES = st.fixed_dictionaries({"spec": SPECS}, optional={"metadata": METADATA})
APART = st.fixed_dictionaries(
    {"size": st.integers(0, 3), "containers": st.just([{"name": "c"}])},
    optional={
        "pod": st.fixed_dictionaries(
            {}, optional={"labels": MAPS, "annotations": MAPS, "nodeSelector": MAPS}
        )
    },
)
STARTS = st.fixed_dictionaries(
    {"node_selector": MAPS, "labels": MAPS, "annotations": MAPS},
)
ADDED = st.lists(st.builds(Toleration, key=st.sampled_from(KEYS), operator=st.just("Exists")))
JOB = ObjectRef(kind="k", namespace="team", name="train", uid="u1")


def check(kind: JobKind[Any], spec: Object, podsets: tuple[PodSetStart, ...]) -> None:
    """Start and stop a job of this spec, and compare what is left."""
    job = {"metadata": {"namespace": "team", "name": "train", "uid": "u1"}, "spec": spec}
    start = StartOrdered(at_us=1, workload="team/w", job=JOB, podsets=podsets)
    running = carried_out(kind, job, Start(order=start, ledger_id="L1", seq=7))
    assert running["spec"]["suspend"] is False
    stop = StopOrdered(at_us=1, workload="team/w", job=JOB)
    ended = carried_out(kind, running, Stop(order=stop, ledger_id="L1", seq=9))
    assert ended["spec"] == spec
    assert ended["metadata"]["annotations"] == {names.DECISION: "L1/9"}
    assert merged(job, {}) == job


@drawn(100)
@given(TEMPLATES, STARTS, ADDED, GATES)
def test_a_template_is_left_as_it_was(
    template: Object, put_in: Object, tolerations: list[Toleration], gates: tuple[str, ...]
) -> None:
    replicated = {"name": "w", "template": {"spec": {"template": template}}}
    added = tuple(tolerations)
    given = PodSetStart(name="w", count=1, tolerations=added, gates=gates, **put_in)
    check(jobset.KIND, {"suspend": True, "replicatedJobs": [replicated]}, (given,))


@drawn(100)
@given(APART, STARTS)
def test_parts_that_stand_apart_are_left_as_they_were(spec: Object, put_in: Object) -> None:
    kind = declared_kind(declarations()["minicluster"])
    given = PodSetStart(name="main", count=spec["size"], **put_in)
    check(kind, {"suspend": True, **spec}, (given,))


def test_pods_whose_gates_have_no_place_are_not_started_without_them() -> None:
    kind = declared_kind(declarations()["minicluster"])
    spec = {"suspend": True, "size": 1, "containers": [{"name": "c"}]}
    job = {"metadata": {"namespace": "team", "name": "train", "uid": "u1"}, "spec": spec}
    podset = PodSetStart(name="main", count=1, gates=(names.TOPOLOGY_GATE,))
    order = StartOrdered(at_us=1, workload="team/w", job=JOB, podsets=(podset,))
    refused = kind.start(Start(order=order, ledger_id="L1", seq=7), job)
    assert isinstance(refused, Refused)
    assert refused.message == "podset main: its kind has no place for schedulingGates."
