"""Kubeflow's jobs: a podset a role, suspended by their run policy.

Their controllers make the pods, and count none as active once they have suspended a job.

Source: behaviour.md 16, Kubeflow v1 jobs and MPIJob.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation, UntypedObject
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import (
    Path,
    number_at,
    outcome,
    path_text,
    text_at,
    true_condition,
    value_at,
)
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex, check_groups
from tidegate.kinds.policies.frameworks import framework

_POLICY = ("spec", "runPolicy")
_STATUSES = ("status", "replicaStatuses")
_OUTCOMES = {"Succeeded": "Succeeded", "Failed": "Failed"}
_INDEX = PodIndex(label="training.kubeflow.org/replica-index")


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """The roles of a kind, and the field that holds them."""

    path: Path
    names: tuple[str, ...]  # in the order of their podsets
    pairs: bool = False  # a topology's groups are of two podsets; where Kueue refuses others

    def podset_locations(self, obj: Object) -> tuple[PodSetLocation, ...]:
        """Return the podsets, one a role that is there.

        Raises:
            UndecodableError: there is another role, whose pods would run without being charged.
        """
        roles = by_role(obj, self.path)
        unknown = sorted(roles.keys() - set(self.names))
        if unknown:
            names = " and ".join(self.names)
            raise UndecodableError(
                f"{path_text(self.path)}: {unknown[0]!r} is no role; {names} are."
            )
        return tuple(
            self._podset_location(obj, name) for name in self.names if roles.get(name) is not None
        )

    def _podset_location(self, obj: Object, role: str) -> PodSetLocation:
        return PodSetLocation(
            name=role.lower(),
            count=number_at(obj, (*self.path, role, "replicas"), 1),
            template=(*self.path, role, "template"),
            index=_INDEX,
        )


def by_role(obj: Object, path: Path) -> Mapping[str, object]:
    """Return the value at a path for each role; errors as in ``Roles.podset_locations``."""
    value = value_at(obj, path)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UndecodableError(f"{path_text(path)}: this is not an object.")
    return value


def status_of(obj: Object) -> JobStatus:
    """Return how a job stands; it gives no pods back before its end."""
    finished, message = outcome(obj, _OUTCOMES)
    statuses = by_role(obj, _STATUSES)
    return JobStatus(
        finished=finished,
        message=message,
        active=sum(number_at(obj, (*_STATUSES, role, "active")) for role in statuses),
        ready=true_condition(obj, ("Running",)) is not None,
    )


def priority_class(obj: Object) -> str:
    """Return the class that a run policy asks for, empty for none."""
    return text_at(obj, (*_POLICY, "schedulingPolicy", "priorityClass"))


def kubeflow_kind(name: str, roles: Roles) -> JobKind[UntypedObject]:
    """Return one of Kubeflow's kinds, by Kueue's name for it."""
    return suspended_kind(
        framework(name),
        Layout(
            podset_locations=roles.podset_locations,
            status_of=status_of,
            priority_class=priority_class,
            check=check_groups if roles.pairs else lambda _: None,
        ),
    )
