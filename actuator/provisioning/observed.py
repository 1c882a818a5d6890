"""The objects that this controller looks at, as far as it looks."""

from __future__ import annotations

import msgspec

from actuator.provisioning.templates import CONTROLLER
from tidegate.kinds.kueue_api.checks import AdmissionCheck
from tidegate.kinds.meta import Condition, ObjectMeta


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A PodTemplate by name."""

    name: str = ""


class RequestedPods(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """So many pods of one template."""

    pod_template_ref: Reference = Reference()
    count: int = 0


class RequestSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an autoscaler is asked for."""

    provisioning_class_name: str = ""
    parameters: dict[str, str] = {}
    pod_sets: tuple[RequestedPods, ...] = ()


class RequestStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The status that the autoscaler writes."""

    conditions: tuple[Condition, ...] = ()
    provisioning_class_details: dict[str, str] = {}


class ProvisioningRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A wish for nodes, as autoscaling.x-k8s.io/v1 has it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RequestSpec = RequestSpec()
    status: RequestStatus = RequestStatus()

    def condition(self, kind: str) -> Condition | None:
        """Return a condition, however it stands."""
        return next(
            (condition for condition in self.status.conditions if condition.type == kind), None
        )

    def true_condition(self, kind: str) -> Condition | None:
        """Return a condition that is true; None if it is not, or is absent."""
        condition = self.condition(kind)
        return condition if condition is not None and condition.status == "True" else None

    @property
    def owner(self) -> str:
        """Return the uid of the Workload that it was made for; empty if for none."""
        owner = self.metadata.controller()
        return owner.uid if owner is not None and owner.kind == "Workload" else ""

    @property
    def workload(self) -> str:
        """Return "<namespace>/<name>" of that Workload; empty if there is none."""
        owner = self.metadata.controller()
        return f"{self.metadata.namespace}/{owner.name}" if owner and self.owner else ""


class CheckReference(msgspec.Struct, frozen=True, kw_only=True):
    """One of a Workload's checks."""

    name: str = ""


class WorkloadStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which checks a Workload waits for, and whether it holds quota."""

    conditions: tuple[Condition, ...] = ()
    admission_checks: tuple[CheckReference, ...] = ()


class WaitingWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a Workload that decide whether its ProvisioningRequests need attention."""

    metadata: ObjectMeta = ObjectMeta()
    status: WorkloadStatus = WorkloadStatus()

    @property
    def key(self) -> str:
        """Return "<namespace>/<name>"."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def checks(self) -> tuple[str, ...]:
        """Return the names of its checks, of every controller."""
        return tuple(check.name for check in self.status.admission_checks)

    @property
    def reserved(self) -> bool:
        """Return whether it holds quota, and is not about to lose it."""
        true = {
            condition.type for condition in self.status.conditions if condition.status == "True"
        }
        return "QuotaReserved" in true and "Evicted" not in true


def is_provisioning_check(check: AdmissionCheck) -> bool:
    """Return whether this controller decides a check."""
    return check.spec.controller_name == CONTROLLER
