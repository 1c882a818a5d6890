"""The objects that this controller looks at, as far as it looks."""

from __future__ import annotations

import msgspec

from actuator.provisioning.naming import CONTROLLER
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
    """What the autoscaler says."""

    conditions: tuple[Condition, ...] = ()
    provisioning_class_details: dict[str, str] = {}


class ProvisioningRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A wish for nodes, as autoscaling.x-k8s.io/v1 has it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RequestSpec = RequestSpec()
    status: RequestStatus = RequestStatus()

    def condition(self, kind: str) -> Condition | None:
        """Return a condition, however it stands."""
        return next((one for one in self.status.conditions if one.type == kind), None)

    def holds(self, kind: str) -> Condition | None:
        """Return a condition that is true; None if it is not, or was never said."""
        found = self.condition(kind)
        return found if found is not None and found.status == "True" else None

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


class CheckName(msgspec.Struct, frozen=True, kw_only=True):
    """One of a Workload's checks."""

    name: str = ""


class WorkloadStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which checks a Workload waits for, and whether it holds quota."""

    conditions: tuple[Condition, ...] = ()
    admission_checks: tuple[CheckName, ...] = ()


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A Workload, as far as it tells whether its requests have to be looked after."""

    metadata: ObjectMeta = ObjectMeta()
    status: WorkloadStatus = WorkloadStatus()

    @property
    def key(self) -> str:
        """Return "<namespace>/<name>"."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def checks(self) -> tuple[str, ...]:
        """Return the names of its checks, whoever decides them."""
        return tuple(one.name for one in self.status.admission_checks)

    @property
    def reserved(self) -> bool:
        """Tell whether it holds quota, and is not about to lose it."""
        true = {one.type for one in self.status.conditions if one.status == "True"}
        return "QuotaReserved" in true and "Evicted" not in true


def is_ours(check: AdmissionCheck) -> bool:
    """Tell whether this controller decides a check."""
    return check.spec.controller_name == CONTROLLER
