"""``managedBy`` of each kind: another controller's objects are left alone, and named gates keep."""

from __future__ import annotations

import ast

import pytest

from tests.kinds.observed.answers import with_beside
from tests.kinds.observed.cases import Case, Object, kinds
from tidegate.contracts.observations import JobObserved
from tidegate.errors import TidegateError
from tidegate.jobs.kind import JobKind
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.templates.paths import with_value
from tidegate.kinds.decode import read
from tidegate.kinds.names import PLACED
from tidegate.kinds.policies.frameworks import MULTIKUEUE, framework
from tidegate.kinds.policies.jobs import suspend_policy
from tidegate.model.multikueue import ADAPTERS

KINDS = {name: kind for name, kind in JOB_KINDS.items() if kind.managed_by is not None}
CASES = {case.object["kind"]: cases for _, cases in kinds() for case in cases[:1]}


def observed(kind: JobKind[object], obj: Object) -> JobObserved | None:
    """Observe an object, None if it makes no sense."""
    try:
        return kind.observe(read(obj, kind.object_type))
    except TidegateError:
        return None


def queued(kind: JobKind[object]) -> Object:
    """Return an object of a kind that is queued."""
    cases: list[Case] = [with_beside(case) for case in CASES[kind.kind]]
    objects = (
        case.object for case in cases if (seen := observed(kind, case.object)) and seen.queue
    )
    return next(objects)


def run_by(kind: JobKind[object], controller: str) -> JobObserved:
    assert kind.managed_by is not None, "only such kinds"
    observation = observed(kind, with_value(queued(kind), kind.managed_by.path, controller))
    assert observation is not None
    return observation


def test_most_kinds_can_name_their_controller() -> None:
    assert len(KINDS) >= 10


@pytest.mark.parametrize("name", KINDS)
def test_what_another_controller_runs_is_left_alone(name: str) -> None:
    observation = run_by(KINDS[name], "example.com/controller")
    assert (observation.queue, observation.podsets) == ("", ())


@pytest.mark.parametrize("name", KINDS)
def test_its_own_controller_changes_nothing(name: str) -> None:
    kind = KINDS[name]
    assert kind.managed_by is not None, "only such kinds"
    observation = run_by(kind, kind.managed_by.own)
    assert observation.queue
    assert observation.podsets
    assert MULTIKUEUE not in observation.gates


@pytest.mark.parametrize("name", KINDS)
def test_what_another_cluster_is_to_run_waits(name: str) -> None:
    observation = run_by(KINDS[name], MULTIKUEUE)
    assert observation.queue
    assert MULTIKUEUE in observation.gates


@pytest.mark.parametrize("name", KINDS)
def test_its_policy_suspends_what_its_own_controller_runs_and_no_other(name: str) -> None:
    managed_by = KINDS[name].managed_by
    assert managed_by is not None
    (policy, _) = suspend_policy(framework(name))
    (own,) = [
        condition["expression"]
        for condition in policy["spec"]["matchConditions"]
        if condition["name"] == "its-own-controller"
    ]
    assert own.startswith(f"object.?{'.?'.join(map(str, managed_by.path))}.orValue('')")
    assert ast.literal_eval(own.partition(" in ")[2]) == ["", managed_by.own, MULTIKUEUE, PLACED]


@pytest.mark.parametrize("name", [name for name, kind in ADAPTERS.items() if kind.managed_by])
def test_the_message_of_a_rejection_names_the_field_that_is_looked_at(name: str) -> None:
    path = JOB_KINDS[name].managed_by
    assert path is not None
    assert ADAPTERS[name].managed_by == ".".join(str(part) for part in path.path)
