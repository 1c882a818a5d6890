"""TrainJob: Kubeflow Trainer's job, whose pods its runtime describes.

A start writes what it gives as a patch of the runtime, under Kueue's name, while the TrainJob is
still suspended: Trainer allows changes of such patches only then.

Called: TrainJob v1alpha1 of Kubeflow Trainer
Podsets: one a replicatedJob of its ClusterTrainingRuntime or TrainingRuntime, with the trainer's
and the initializers' fields and others' ``runtimePatches`` in it; while the runtime is not there,
it waits behind a gate that names it
Restored: ``runtimePatches``
Put in: node labels, tolerations, labels and annotations, in a ``runtimePatches`` entry of the
manager ``kueue.x-k8s.io/manager``, written before it is unsuspended
Topology: as a JobSet

Source: behaviour.md 16, TrainJob.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tidegate.contracts.decisions import PodSetStart
from tidegate.errors import UndecodableError
from tidegate.jobs.batch import jobset
from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import Path, list_at, text_at, value_at, with_value
from tidegate.jobs.templates.template import as_template, inject_start
from tidegate.jobs.training.training_runtime import rendered_jobset
from tidegate.kinds.policies.frameworks import framework

GROUP, VERSION = "trainer.kubeflow.org", "v1alpha1"
MANAGER = "kueue.x-k8s.io/manager"
_PATCHES = ("spec", "runtimePatches")
_JOBS = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_TOLERATIONS = ("spec", "tolerations")
_OUTCOMES = {"Complete": "Succeeded", "Failed": "Failed"}
_RUNTIMES = {
    "ClusterTrainingRuntime": f"/apis/{GROUP}/{VERSION}/clustertrainingruntimes",
    "TrainingRuntime": f"/apis/{GROUP}/{VERSION}/namespaces/{{}}/trainingruntimes",
}
"""Kind to where its objects are, of the TrainJob's namespace if they have one."""


def referred_paths(obj: Object) -> tuple[str, ...]:
    """Return the path of the runtime that a TrainJob names.

    Raises:
        UndecodableError: it is no training runtime.
    """
    reference = ("spec", "runtimeRef")
    kind = text_at(obj, (*reference, "kind")) or "ClusterTrainingRuntime"
    name = text_at(obj, (*reference, "name"))
    if kind not in _RUNTIMES or text_at(obj, (*reference, "apiGroup")) not in ("", GROUP):
        raise UndecodableError(f"spec.runtimeRef: {kind[:80]!r} is no training runtime.")
    return (f"{_RUNTIMES[kind].format(text_at(obj, ('metadata', 'namespace')))}/{name}",)


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets, those of the JobSet that its runtime makes of a TrainJob."""
    referred_paths(obj)
    beside = list_at(obj, ("beside",))
    if not beside:
        name = text_at(obj, ("spec", "runtimeRef", "name"))
        raise UndecodableError(f"spec.runtimeRef: there is no training runtime {name[:80]!r}.")
    jobset_made = rendered_jobset(obj, beside[0], _patches_of_others(obj))
    return tuple(
        replace(place, template=None, built=value_at(jobset_made, place.template or ()))
        for place in jobset.podset_locations(jobset_made)
    )


def status_of(obj: Object) -> JobStatus:
    """Return how a TrainJob stands; its status counts Jobs, one a podset."""
    finished, message = jobset.terminal_condition(obj, _OUTCOMES)
    statuses = list_at(obj, ("status", "jobsStatus"))
    try:
        pods = {place.name: place.count for place in podset_locations(obj)}
    except UndecodableError:  # reported where its podsets are read
        pods = {}
    status = jobset.status_of_jobs(statuses, dict.fromkeys(pods, 1), pods)
    return replace(status, finished=finished, message=message)


def inject(obj: Object, podsets: Mapping[str, PodSetStart]) -> Object:
    """Return a TrainJob with the patch of its runtime that gives each podset what it is given."""
    jobs = [
        {"name": place.name, "template": {"spec": {"template": _patched_template(place, podset)}}}
        for place in podset_locations(obj)
        for podset in (podsets[place.name],)
    ]
    patches = list_at(obj, _PATCHES)
    ours_at = [at for at, patch in enumerate(patches) if patch.get("manager") == MANAGER]
    own = patches[ours_at[0]] if ours_at else {"manager": MANAGER}
    patch = with_value(own, _JOBS, jobs)
    patches_after = [patch if at in ours_at[:1] else other for at, other in enumerate(patches)]
    result: Object = with_value(obj, _PATCHES, patches_after if ours_at else [*patches, patch])
    return result


def overwritten_paths(obj: Object) -> tuple[Path, ...]:
    """Return where ``inject`` writes."""
    del obj
    return (_PATCHES,)


def _patched_template(place: PodSetLocation, podset: PodSetStart) -> Object:
    """Return what a podset is given, its template's tolerations first: a patch replaces those."""
    patch, template = as_template(podset), place.built or {}
    if not podset.tolerations:
        return patch
    started, _ = inject_start(template, podset)
    result: Object = with_value(patch, _TOLERATIONS, value_at(started, _TOLERATIONS))
    return result


def _patches_of_others(obj: Object) -> list[Object]:
    return [patch for patch in list_at(obj, _PATCHES) if patch.get("manager") != MANAGER]


KIND = suspended_kind(
    framework("trainer.kubeflow.org/trainjob"),
    Layout(
        podset_locations=podset_locations,
        status_of=status_of,
        inject=inject,
        overwritten_paths=overwritten_paths,
        former_values=lambda obj: ((_PATCHES, _patches_of_others(obj) or None),),
        writes_suspended=True,
    ),
    referred_paths=referred_paths,
)
