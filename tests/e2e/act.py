"""What the life of a job needs to know of its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.e2e.operators import Children, Operator, Status
from tidegate.jobs.templates.paths import parse_path, value_at
from tidegate.model.declaration import Declaration

Object = dict[str, Any]


@dataclass(frozen=True)
class Act:
    """One kind's part in the tests: how its objects are made, and what is to be seen of them."""

    namespace: str
    framework: str
    path: str
    make: Callable[[str, str, float], Object]  # name, queue, seconds; it asks for 2 CPUs
    templates: Callable[[Object], list[Object]]
    finished: Callable[[Object], bool] | None  # None: it serves until it is deleted
    active: Callable[[Object], bool]
    suspend: str = "spec.suspend"
    crd: Object | None = None
    also: tuple[Object, ...] = ()  # other CRDs and objects that its objects refer to
    children: Children | None = None  # None: the kind's controller is there
    status: Status | None = None
    declared: Declaration | None = None
    gates: tuple[str, ...] = ()  # feature gates that the configuration opens
    slow: bool = False  # lived only in make test-all
    tolerates: bool = True  # its templates have a place for tolerations

    @property
    def name(self) -> str:
        """Return how tables of the tests call it."""
        return self.namespace.removeprefix("life-")

    @property
    def frameworks(self) -> tuple[str, ...]:
        """Return what the configuration enables by Kueue's name; batch Jobs are children here."""
        return tuple(dict.fromkeys(filter(None, ("batch/job", self.framework))))

    @property
    def collection(self) -> str:
        """Return the path of the objects in the test's namespace."""
        return self.path.format(self.namespace)

    @property
    def operator(self) -> Operator | None:
        """Return the stand-in for the kind's controller, if it needs one."""
        if self.children is None or self.status is None:
            return None
        return Operator(self.collection, self.children, self.status, self.ended)

    def ended(self, obj: Object) -> bool:
        """Tell whether an object is over; one that serves never is."""
        return self.finished is not None and self.finished(obj)

    def is_suspended(self, obj: Object) -> bool:
        """Tell whether an object may not run."""
        return value_at(obj, parse_path(self.suspend)) is True


def has_condition(obj: Object, *kinds: str) -> bool:
    """Tell whether a condition of one of these types is true."""
    current_conditions = obj.get("status", {}).get("conditions", ())
    return any(
        candidate_condition["type"] in kinds and candidate_condition["status"] == "True"
        for candidate_condition in current_conditions
    )


def condition(kind: str) -> Object:
    """Return a condition that is true."""
    at = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": at}
