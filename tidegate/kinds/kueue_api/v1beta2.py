"""Every kind of Kueue's API: its names, scope, columns and type.

The types are in ``queues``, ``flavors``, ``workload`` and ``checks``; ``crds`` makes the CRDs.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tidegate.kinds.kueue_api import checks, flavors
from tidegate.kinds.kueue_api.queues import objects
from tidegate.kinds.kueue_api.workloads.workload import Workload

Scope: TypeAlias = Literal["Cluster", "Namespaced"]


class Column(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A column of ``kubectl get``."""

    name: str
    json_path: str
    type: str = "string"
    priority: int = 0  # above 0: only with -o wide
    description: str = ""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind, as the API server serves it."""

    name: str
    plural: str
    type: type[msgspec.Struct]
    scope: Scope = "Cluster"
    short_names: tuple[str, ...] = ()
    status: bool = False  # has a status subresource
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()  # field selectors

    @property
    def singular(self) -> str:
        """Return the name in lower case."""
        return self.name.lower()


_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_PENDING = Column("Pending Workloads", ".status.pendingWorkloads", "integer")


def _condition(kind: str) -> str:
    return f".status.conditions[?(@.type=='{kind}')].status"


KINDS: tuple[Kind, ...] = (
    Kind(
        name="ClusterQueue",
        plural="clusterqueues",
        type=objects.ClusterQueue,
        short_names=("cq",),
        status=True,
        columns=(
            Column("Cohort", ".spec.cohortName"),
            Column("Strategy", ".spec.queueingStrategy", priority=1),
            _PENDING,
            Column("Admitted Workloads", ".status.admittedWorkloads", "integer", priority=1),
        ),
    ),
    Kind(
        name="Cohort",
        plural="cohorts",
        type=objects.Cohort,
        short_names=("co",),
        status=True,
        columns=(Column("Parent", ".spec.parentName"), _AGE),
    ),
    Kind(
        name="LocalQueue",
        plural="localqueues",
        type=objects.LocalQueue,
        scope="Namespaced",
        short_names=("queue", "queues", "lq"),
        status=True,
        columns=(
            Column("ClusterQueue", ".spec.clusterQueue"),
            _PENDING,
            Column("Admitted Workloads", ".status.admittedWorkloads", "integer"),
        ),
    ),
    Kind(
        name="ResourceFlavor",
        plural="resourceflavors",
        type=flavors.ResourceFlavor,
        short_names=("flavor", "flavors", "rf"),
        columns=(_AGE,),
    ),
    Kind(
        name="Workload",
        plural="workloads",
        type=Workload,
        scope="Namespaced",
        short_names=("kwl", "kueueworkload", "kueueworkloads"),
        status=True,
        columns=(
            Column("Queue", ".spec.queueName"),
            Column("Reserved in", ".status.admission.clusterQueue"),
            Column("Admitted", _condition("Admitted")),
            Column("Finished", _condition("Finished")),
            _AGE,
        ),
        selectable=(".status.admission.clusterQueue",),
    ),
    Kind(
        name="WorkloadPriorityClass",
        plural="workloadpriorityclasses",
        type=flavors.WorkloadPriorityClass,
        short_names=("wpc",),
        columns=(Column("Value", ".value", "integer"), _AGE),
    ),
    Kind(
        name="AdmissionCheck",
        plural="admissionchecks",
        type=checks.AdmissionCheck,
        short_names=("ac",),
        status=True,
        columns=(
            Column("Controller", ".spec.controllerName"),
            Column("Active", _condition("Active")),
            _AGE,
        ),
    ),
    Kind(
        name="ProvisioningRequestConfig",
        plural="provisioningrequestconfigs",
        type=checks.ProvisioningRequestConfig,
        short_names=("prc",),
        columns=(Column("Class", ".spec.provisioningClassName"), _AGE),
    ),
    Kind(
        name="MultiKueueCluster",
        plural="multikueueclusters",
        type=checks.MultiKueueCluster,
        short_names=("mkc",),
        status=True,
        columns=(Column("Connected", _condition("Active")), _AGE),
    ),
    Kind(
        name="MultiKueueConfig",
        plural="multikueueconfigs",
        type=checks.MultiKueueConfig,
        short_names=("mkconf",),
        columns=(_AGE,),
    ),
    Kind(
        name="Topology",
        plural="topologies",
        type=flavors.Topology,
        short_names=("topo",),
        columns=(_AGE,),
    ),
)
