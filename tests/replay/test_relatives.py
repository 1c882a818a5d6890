"""Jobs that are tried by variants, in virtual time: they end for their whole family."""

from __future__ import annotations

from msgspec.structs import replace

from tests.replay.test_virtual import GROUP, SECOND, SPEC, job, objects
from tidegate.contracts import facts
from tidegate.contracts.decisions import WorkloadAdmitted
from tidegate.contracts.facts import Event
from tidegate.model.policy import Policy
from tidegate.model.quota import FlavorSpec
from tidegate.replay.simulator.loads import Job, scenario_of_load
from tidegate.replay.simulator.whatif import simulate

OTHER = replace(GROUP.flavors[0], flavor="g")
TRIED = replace(SPEC, concurrent=True, groups=(replace(GROUP, flavors=(*GROUP.flavors, OTHER)),))
POLICY = Policy(gates={"ConcurrentAdmission": True})


def admissions(*jobs: Job) -> dict[str, list[int]]:
    events = list[Event]()
    other = facts.FlavorDefined(at_us=0, name="g", spec=FlavorSpec())
    simulate(scenario_of_load([other, *objects(TRIED)], POLICY, jobs, 0), listen=events.append)
    mapping = dict[str, list[int]]()
    for event in events:
        if isinstance(event, WorkloadAdmitted):
            mapping.setdefault(event.workload, []).append(event.at_us // SECOND)
    return mapping


def test_a_job_runs_as_long_as_it_does_on_any_flavor_and_then_its_family_is_over() -> None:
    mapping = admissions(job("a", 0, 60), job("b", 5, 30), job("c", 6, 10))
    assert mapping == {"n/a-f": [0], "n/b-g": [5], "n/c-g": [35]}


def test_a_job_moves_when_the_preferred_flavor_is_free() -> None:
    mapping = admissions(job("a", 0, 10), job("b", 5, 300))
    assert list(mapping) == ["n/a-f", "n/b-g", "n/b-f"]
