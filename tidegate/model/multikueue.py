"""MultiKueue's names, the policy of its manager, and the job kinds that can run on a worker.

Source: multikueue.md 2, 3, 4.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Literal

import msgspec

CONTROLLER = "kueue.x-k8s.io/multikueue"
"""The check's controller, and the managedBy of a job whose pods run in a worker cluster."""
ALL_AT_ONCE = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
OUT_OF_SYNC = "OutOfSync"
"""The reason for finishing a Workload, or deleting a copy, that differs from its job."""
ROUND_US = 300_000_000
"""The length of one round of the incremental dispatcher, before it nominates more clusters."""

Dispatcher = Literal["AllAtOnce", "Incremental", "External"]


class MultiKueuePolicy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How workloads are sent to worker clusters."""

    dispatcher: Dispatcher = "AllAtOnce"
    step: int = 3  # clusters that one round of the incremental dispatcher adds
    worker_lost_us: int = 900_000_000  # how long a cluster that runs a workload may be away
    kinds: tuple[str, ...] = ()  # enabled job kinds, by Kueue's names; others have no adapter


class CheckParameters(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The object that configures a check."""

    group: str
    kind: str
    name: str


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """How jobs of a kind are sent to another cluster."""

    owner: str  # the kind in messages: "<group>/<version>, Kind=<kind>"
    managed_by: str = "spec.managedBy"  # the field that must name MultiKueue; empty: none
    gated: bool = False  # its pods stay gated in the manager cluster, where it is not started
    marked: bool = False  # its gated pods in the manager cluster are marked as sent
    status: bool = True  # its status in the worker cluster is copied
    together: bool = False  # an object consists of several jobs, which go to one cluster
    elastic: bool = False  # its jobs may be scaled while they run there


def _owner(group: str, kind: str, *, elastic: bool = False) -> Adapter:
    return Adapter(owner=f"{group}, Kind={kind}", elastic=elastic)


def _kubeflow(version: str, kind: str) -> Adapter:
    return Adapter(owner=f"kubeflow.org/{version}, Kind={kind}", managed_by=_RUN_POLICY)


_RUN_POLICY = "spec.runPolicy.managedBy"
ADAPTERS: dict[str, Adapter] = {
    "batch/job": _owner("batch/v1", "Job", elastic=True),
    "jobset.x-k8s.io/jobset": _owner("jobset.x-k8s.io/v1alpha2", "JobSet"),
    "kubeflow.org/pytorchjob": _kubeflow("v1", "PyTorchJob"),
    "kubeflow.org/tfjob": _kubeflow("v1", "TFJob"),
    "kubeflow.org/xgboostjob": _kubeflow("v1", "XGBoostJob"),
    "kubeflow.org/paddlejob": _kubeflow("v1", "PaddleJob"),
    "kubeflow.org/jaxjob": _kubeflow("v1", "JAXJob"),
    "kubeflow.org/mpijob": _kubeflow("v2beta1", "MPIJob"),
    "trainer.kubeflow.org/trainjob": _owner("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    "ray.io/rayjob": _owner("ray.io/v1", "RayJob"),
    "ray.io/raycluster": _owner("ray.io/v1", "RayCluster", elastic=True),
    "ray.io/rayservice": _owner("ray.io/v1", "RayService"),
    "workload.codeflare.dev/appwrapper": _owner("workload.codeflare.dev/v1beta2", "AppWrapper"),
    "pod": Adapter(owner="/v1, Kind=Pod", managed_by="", gated=True),
    "pod-group": Adapter(owner="/v1, Kind=Pod", managed_by="", gated=True, marked=True),
    "statefulset": Adapter(
        owner="apps/v1, Kind=StatefulSet", managed_by="", gated=True, status=False
    ),
    "leaderworkerset.x-k8s.io/leaderworkerset": Adapter(
        owner="leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
        managed_by="",
        gated=True,
        status=False,
        together=True,
    ),
}
"""Job kinds that can go to a worker cluster, by Kueue's names."""


def adapter_of(kind: str, enabled: Container[str]) -> Adapter | None:
    """Return the adapter of a kind; None: its jobs cannot be sent.

    An external framework's kind, ``<Kind>.<version>.<group>``, is sent unchanged if it is enabled.
    Source: multikueue.md 3.3.
    """
    parts = kind.split(".", 2)
    if kind in ADAPTERS or kind not in enabled or len(parts) < _NAME_PARTS:
        return ADAPTERS.get(kind)
    name, version, group = parts
    return _owner(f"{group}/{version}", name)


_NAME_PARTS = 3


class CheckActivity(msgspec.Struct, frozen=True, kw_only=True):
    """The condition Active of a check of MultiKueue."""

    active: bool
    reason: str
    message: str


_GROUP, _CONFIG = "kueue.x-k8s.io", "MultiKueueConfig"


def config_of(parameters: CheckParameters | None) -> str:
    """Return the MultiKueueConfig that a check names; empty: it names none."""
    return "" if parameter_problem(parameters) or parameters is None else parameters.name


def parameter_problem(parameters: CheckParameters | None) -> str:
    """Return what is wrong with a check's parameters; empty: nothing."""
    wrong = "bad parameters reference"
    if parameters is None:
        return "missing parameters reference"
    if not parameters.name:
        return f"empty name: {wrong}"
    if parameters.group != _GROUP:
        return f'wrong group "{parameters.group}", expecting "{_GROUP}": {wrong}'
    if parameters.kind != _CONFIG:
        return f'wrong kind "{parameters.kind}", expecting "{_CONFIG}": {wrong}'
    return ""


def activity_of_parameters(
    parameters: CheckParameters | None,
    configs: Mapping[str, Sequence[str]],
    clusters: Container[str],
    usable: Container[str],
) -> CheckActivity:
    """Return whether a check of MultiKueue is active.

    Args:
        parameters: the check's parameters.
        configs: the clusters of each MultiKueueConfig, by its name.
        clusters: names of existing MultiKueueClusters.
        usable: names of connected MultiKueueClusters.

    Source: multikueue.md 1.3.
    """
    wrong = parameter_problem(parameters)
    name = config_of(parameters)
    if name and name not in configs:
        wrong = f'{_CONFIG}.{_GROUP} "{name}" not found'
    if wrong:
        message = f"Cannot load the AdmissionChecks parameters: {wrong}"
        return CheckActivity(active=False, reason="BadConfig", message=message)
    listed = configs[name]
    missing = [cluster for cluster in listed if cluster not in clusters]
    idle = [cluster for cluster in listed if cluster in clusters and cluster not in usable]
    if not missing and not idle:
        message = "The admission check is active"
        return CheckActivity(active=True, reason="Active", message=message)
    messages = [f"Missing clusters: [{' '.join(missing)}]"] if missing else []
    messages += [f"Inactive clusters: [{' '.join(idle)}]"] if idle else []
    some = len(missing) + len(idle) < len(listed)
    reason = "SomeActiveClusters" if some else "NoUsableClusters"
    return CheckActivity(active=some, reason=reason, message=", ".join(messages))
