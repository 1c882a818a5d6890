"""The job kinds: name, field of suspension, and the owners whose children are not managed.

One row declares a kind. Its policies, the rights over it and what its module is called by come from
there.
"""

from __future__ import annotations

import msgspec

from tidegate.kinds.names import PLACED
from tidegate.kinds.policies.forms import Target
from tidegate.model.clusters import PLACEABLE
from tidegate.model.declaration import Declaration

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
"""Runs jobs on another cluster; a job that names it is not run in this cluster."""


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """A job kind, by the name that Kueue's configuration gives it."""

    name: str
    group: str
    version: str
    resource: str
    kind: str
    suspend: str = "spec.suspend"  # where true means: do not run
    controller: str = ""  # its kind's own, as an object may name it; empty: no such field
    managed_by: str = "spec.managedBy"  # where an object names its controller
    looks_at: tuple[str, ...] = ()  # resources of its group that say what its pods are like

    @property
    def slug(self) -> str:
        """Return its name as part of a policy's name: ``batch-job``."""
        return self.name.replace("/", "-").replace(".", "-").lower()

    @property
    def own_controller(self) -> str:
        """Return the expression of whether no third-party controller runs an object."""
        named = f"object.?{self.managed_by.replace('.', '.?')}.orValue('')"
        return f"{named} in {['', self.controller, MULTIKUEUE, PLACED]}"

    @property
    def is_placeable(self) -> bool:
        """Return whether its jobs can run as a copy in another cluster."""
        return self.name in PLACEABLE

    @property
    def running(self) -> str:
        """Return the expression of whether an object is not suspended."""
        return f"!object.?{self.suspend.replace('.', '.?')}.orValue(false)"

    @property
    def was_running(self) -> str:
        """Return the expression of whether an object was not suspended before its change."""
        return self.running.replace("object", "oldObject", 1)

    def target(self, *operations: str) -> Target:
        """Return the requests about this kind."""
        return Target(
            group=self.group,
            versions=(self.version,),
            resources=(self.resource,),
            operations=operations,
        )


def _kubeflow(kind: str, version: str = "v1", operator: str = "training-operator") -> Framework:
    return Framework(
        name=f"kubeflow.org/{kind.lower()}",
        group="kubeflow.org",
        version=version,
        resource=f"{kind.lower()}s",
        kind=kind,
        suspend="spec.runPolicy.suspend",
        controller=f"kubeflow.org/{operator}",
        managed_by="spec.runPolicy.managedBy",
    )


def _ray(
    kind: str, suspend: str = "spec.suspend", looks_at: tuple[str, ...] = ("rayclusters",)
) -> Framework:
    return Framework(
        name=f"ray.io/{kind.lower()}",
        group="ray.io",
        version="v1",
        resource=f"{kind.lower()}s",
        kind=kind,
        suspend=suspend,
        controller="ray.io/kuberay-operator",
        looks_at=looks_at,
    )


FRAMEWORKS: tuple[Framework, ...] = (
    Framework(
        name="batch/job",
        group="batch",
        version="v1",
        resource="jobs",
        kind="Job",
        controller="kubernetes.io/job-controller",
    ),
    Framework(
        name="jobset.x-k8s.io/jobset",
        group="jobset.x-k8s.io",
        version="v1alpha2",
        resource="jobsets",
        kind="JobSet",
        controller="jobset.sigs.k8s.io/jobset-controller",
    ),
    _kubeflow("MPIJob", "v2beta1", "mpi-operator"),
    _kubeflow("PyTorchJob"),
    _kubeflow("TFJob"),
    _kubeflow("XGBoostJob"),
    _kubeflow("PaddleJob"),
    _kubeflow("JAXJob"),
    Framework(
        name="trainer.kubeflow.org/trainjob",
        group="trainer.kubeflow.org",
        version="v1alpha1",
        resource="trainjobs",
        kind="TrainJob",
        controller="trainer.kubeflow.org/trainjob-controller",
        looks_at=("clustertrainingruntimes", "trainingruntimes"),
    ),
    _ray("RayJob"),
    _ray("RayCluster", looks_at=()),
    _ray("RayService", "spec.rayClusterConfig.suspend"),
    Framework(
        name="workload.codeflare.dev/appwrapper",
        group="workload.codeflare.dev",
        version="v1beta2",
        resource="appwrappers",
        kind="AppWrapper",
        controller="workload.codeflare.dev/appwrapper-controller",
    ),
    Framework(
        name="sparkoperator.k8s.io/sparkapplication",
        group="sparkoperator.k8s.io",
        version="v1beta2",
        resource="sparkapplications",
        kind="SparkApplication",
    ),
)
"""Every kind with a field that suspends it; pods are gated instead."""

NAMES = ("pod", *(row.name for row in FRAMEWORKS))
"""Every name that policies can be asked for."""


BESIDES = (
    ("", "Pod"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "ReplicaSet"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
)
"""Kinds that Kueue makes Workloads of and that no field suspends, by group and kind."""


def is_known_kind(api_version: str, kind: str) -> bool:
    """Return whether Kueue itself creates Workloads for objects of a kind."""
    group = api_version.rpartition("/")[0]
    return (group, kind) in BESIDES or any(
        (row.group, row.kind) == (group, kind) for row in FRAMEWORKS
    )


def has_no_known_controller(declared: tuple[Framework, ...] = ()) -> str:
    """Return the condition that no controller is of a known kind, or of one of these.

    What it makes for a job is the job's own business.
    """
    owners = sorted(f"{row.group}/{row.kind}" for row in (*FRAMEWORKS, *declared))
    return (
        "!object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false)"
        f" && (o.apiVersion.split('/')[0] + '/' + o.kind) in {owners})"
    )


NOT_A_CHILD = has_no_known_controller()
"""What policies ask unless kinds are declared."""
TOPMOST = {"not-a-child": NOT_A_CHILD}
"""The same as a condition by its name."""


def declared_framework(declaration: Declaration) -> Framework:
    """Return a declared kind as policies know it."""
    return Framework(
        name=declaration.name,
        group=declaration.group,
        version=declaration.version,
        resource=declaration.resource,
        kind=declaration.kind,
        suspend=declaration.suspend,
    )


def framework(name: str) -> Framework:
    """Return the row of a kind, by its name; KeyError: there is none."""
    return {row.name: row for row in FRAMEWORKS}[name]


def frameworks_named(names: tuple[str, ...]) -> tuple[Framework, ...]:
    """Return these frameworks, in the table's order; other names (``pod``) are passed over."""
    return tuple(row for row in FRAMEWORKS if row.name in names)
