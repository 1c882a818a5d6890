"""The JobSet that Kubeflow Trainer makes of a TrainJob and its runtime, as far as it is charged.

Source: behaviour.md 16, TrainJob.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidegate.jobs.kind import Object
from tidegate.jobs.templates.paths import (
    Path,
    list_at,
    number_at,
    object_at,
    text_at,
    value_at,
    with_value,
)

_JOBS = ("spec", "replicatedJobs")
_RUNTIME_JOBS = ("spec", "template", "spec", "replicatedJobs")
_PATCHED_JOBS = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_STEP = ("template", "metadata", "labels", "trainer.kubeflow.org/trainjob-ancestor-step")
_POLICY = ("spec", "mlPolicy")
_POD: Path = ("template", "spec", "template")
_TRAINER, _NODE = "trainer", "node"
_COPIED = ("image", "command", "args")
"""A trainer's fields that replace a container's."""
_BY_NAME = ("containers", "initContainers", "volumes", "env", "schedulingGates")
"""Lists that a patch of a runtime is merged into; another list, as of tolerations, it replaces."""


def rendered_jobset(job: Object, runtime: Object, patches: Iterable[Object]) -> Object:
    """Return the JobSet of a TrainJob; ``patches`` are those of its runtime that count.

    Raises:
        UndecodableError: the runtime or a patch is not what it should be.
    """
    jobs = [
        _rendered_replicated_job(job, runtime, replicated)
        for replicated in list_at(runtime, _RUNTIME_JOBS)
    ]
    for patch in patches:
        changed = {
            text_at(patched, ("name",)): patched for patched in list_at(patch, _PATCHED_JOBS)
        }
        jobs = [
            _patched(replicated, changed.get(replicated.get("name", ""))) for replicated in jobs
        ]
    jobset: Object = with_value({}, _JOBS, jobs)
    return jobset


def _rendered_replicated_job(job: Object, runtime: Object, replicated: Object) -> Object:
    pods = _pods(job, runtime, replicated)
    replicated_job = _with_pods({**replicated, "replicas": 1}, pods)
    step = text_at(replicated_job, _STEP)
    trainer = object_at(job, ("spec", "trainer"))
    if step == _TRAINER:
        fields = {field: trainer[field] for field in _COPIED if field in trainer}
        replicated_job = _with_container(replicated_job, _NODE, fields)
    if step == _TRAINER or (_is_launcher_node(runtime) and replicated.get("name") == _NODE):
        replicated_job = _with_container(replicated_job, _NODE, _resources(trainer))
        return _with_env(replicated_job, _NODE, list_at(trainer, ("env",)))
    initializer = value_at(job, ("spec", "initializer", step.removesuffix("-initializer")))
    if step.endswith("-initializer") and isinstance(initializer, dict):
        uri = (
            [{"name": "STORAGE_URI", "value": initializer["storageUri"]}]
            if "storageUri" in initializer
            else []
        )
        return _with_env(replicated_job, step, [*uri, *list_at(initializer, ("env",))])
    return replicated_job


def _pods(job: Object, runtime: Object, replicated: Object) -> int:
    """Return the pods of a replicatedJob: a trainer's nodes are those of one, by its policy.

    With MPI they are those of ``node``, which the launcher may be one of; else of the trainer.
    """
    nodes = number_at(job, ("spec", "trainer", "numNodes"), -1)
    is_trainer = text_at(replicated, _STEP) == _TRAINER
    policy = object_at(runtime, _POLICY)
    is_sized = replicated.get("name") == _NODE if policy.get("mpi") else is_trainer
    if is_sized and nodes >= 0:
        return max(nodes - 1, 1) if _is_launcher_node(runtime) else nodes
    if is_trainer and value_at(runtime, _POLICY) is not None:
        return max(number_at(policy, ("numNodes",), 1), 1)
    return max(number_at(replicated, ("template", "spec", "parallelism"), 1), 1)


def _is_launcher_node(runtime: Object) -> bool:
    return value_at(runtime, (*_POLICY, "mpi", "runLauncherAsNode")) is True


def _with_pods(replicated: Object, pods: int) -> Object:
    """Return a replicatedJob of so many pods: Trainer has all of them run at once."""
    spec = object_at(replicated, ("template", "spec"))
    size = {"parallelism": pods, "completions": pods}
    result: Object = with_value(replicated, ("template", "spec"), {**spec, **size})
    return result


def _resources(trainer: Object) -> Object:
    """Return the resources that a trainer gives a container, none if it says none."""
    resources = object_at(trainer, ("resourcesPerNode",))
    stated = any(value is not None for value in resources.values())
    return {"resources": resources} if stated else {}


def _with_env(replicated: Object, container: str, env: list[Object]) -> Object:
    containers = list_at(replicated, (*_POD, "spec", "containers"))
    env_before = next(
        (each.get("env") for each in containers if each.get("name") == container), None
    )
    merged = _by_name(env_before or [], env)
    return _with_container(replicated, container, {"env": merged}) if env else replicated


def _with_container(replicated: Object, name: str, fields: Object) -> Object:
    path = (*_POD, "spec", "containers")
    changed = [
        {**each, **fields} if each.get("name") == name else each
        for each in list_at(replicated, path)
    ]
    result: Object = with_value(replicated, path, changed)
    return result


def _patched(replicated: Object, patch: Object | None) -> Object:
    """Return a replicatedJob with a patch merged into its pods."""
    pod_patch = None if patch is None else value_at(patch, _POD)
    if not isinstance(pod_patch, dict):
        return replicated
    pod = value_at(replicated, _POD) or {}
    result: Object = with_value(replicated, _POD, _merged(pod, pod_patch))
    return result


def _merged(base: Any, patch: Any, field: str = "") -> Any:  # noqa: ANN401 - any JSON
    match base, patch:
        case dict(), dict():
            return {
                **base,
                **{key: _merged(base.get(key), value, key) for key, value in patch.items()},
            }
        case list(), list() if field in _BY_NAME:
            return _by_name(base, patch)
        case _:
            return patch


def _by_name(base: list[Object], patch: list[Object]) -> list[Object]:
    """Return a list of named items; the patch's items replace those of the same name."""
    merged = {str(item.get("name")): item for item in base}
    for patched in patch:
        name = str(patched.get("name"))
        merged[name] = _merged(merged.get(name), patched)
    return list(merged.values())
