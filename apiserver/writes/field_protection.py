"""Fields that only the actuator may write, as ``tidegate.kinds.policies.marks`` has them in CEL.

Each guard acts only while its policy and a binding of it are stored; the contract suite holds the
pair together. A client that impersonates no user is the server's administrator, and may.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from apiserver.refusals import denied
from apiserver.resources import JOBS, PODS, VALIDATING_BINDINGS, VALIDATING_POLICIES, Resource
from apiserver.state import State
from apiserver.writes.admission import binding_of, is_exempt, is_in_system_namespace
from tidegate.kinds.names import ELASTIC_POD, GROUP
from tidegate.kinds.policies.forms import ACCOUNTS, PREFIX
from tidegate.kinds.policies.marks import (
    CONDITIONS_KEPT,
    COUNTED_BY,
    GATES_KEPT,
    KEEP_ADMISSIONS,
    KEEP_GATES,
    KEEP_MARKS,
    MARKS_KEPT,
    SAID,
)

Object = dict[str, Any]
_Guard = Callable[[Object, Object | None], bool]  # the new object and the old one; None: it is made
_WORKLOADS = f"workloads.{GROUP}"


def refuse_protected_change(  # noqa: PLR0913 - a write is all of these
    state: State,
    resource: Resource,
    new: Object,
    old: Object | None,
    user: str,
    *,
    status: bool = False,
) -> None:
    """Refuse a write of what is the actuator's alone; ``old`` is None where an object is made.

    Raises:
        RefusedError: 422, in the real server's words.
    """
    if not user or user in ACCOUNTS or is_in_system_namespace(new):
        return
    for guard in _GUARDS:
        about = resource.key in guard.keys and guard.status == status
        stored = VALIDATING_POLICIES, VALIDATING_BINDINGS
        if about and guard.is_violated(new, old) and binding_of(state, PREFIX + guard.name, stored):
            raise denied(
                resource, new["metadata"].get("name", ""), PREFIX + guard.name, SAID[guard.name]
            )


def _are_marks_changed(new: Object, old: Object | None) -> bool:
    return not is_exempt(new) and _marks(new) != _marks(old or {})


def _is_admission_changed(new: Object, old: Object | None) -> bool:
    return _admission(new) != _admission(old or {})


def _is_gate_removed(new: Object, old: Object | None) -> bool:
    return bool(_gates(old or {}) - _gates(new)) or _has_wrong_count(new, old or {})


def _marks(obj: Object) -> list[str]:
    annotations = obj.get("metadata", {}).get("annotations") or {}
    return [annotations.get(key, "") for key in MARKS_KEPT]


def _admission(obj: Object) -> tuple[object, list[Object]]:
    status = obj.get("status") or {}
    conditions = status.get("conditions") or ()
    return status.get("admission"), [
        condition for condition in conditions if condition["type"] in CONDITIONS_KEPT
    ]


def _gates(obj: Object) -> set[str]:
    gates = obj.get("spec", {}).get("schedulingGates") or ()
    return {gate["name"] for gate in gates} & set(GATES_KEPT)


def _has_wrong_count(new: Object, old: Object) -> bool:
    before, after = (obj.get("metadata", {}).get("labels") or {} for obj in (old, new))
    return ELASTIC_POD in before and any(before.get(key) != after.get(key) for key in COUNTED_BY)


class _ProtectedFields(NamedTuple):
    name: str  # of the policy
    keys: tuple[str, ...]
    is_violated: _Guard
    status: bool = False


_GUARDS = (
    _ProtectedFields(KEEP_MARKS, (JOBS.key, PODS.key, _WORKLOADS), _are_marks_changed),
    _ProtectedFields(KEEP_ADMISSIONS, (_WORKLOADS,), _is_admission_changed, status=True),
    _ProtectedFields(KEEP_GATES, (PODS.key,), _is_gate_removed),
)
