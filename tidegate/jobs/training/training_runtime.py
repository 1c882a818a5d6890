"""The JobSet that Kubeflow Trainer makes of a TrainJob and its runtime, as far as it is charged.

Source: behaviour.md 16, TrainJob.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidegate.jobs.kind import Object
from tidegate.jobs.templates.paths import (
    Path,
    found_at,
    listed_at,
    number_at,
    object_at,
    text_at,
    with_value,
)

_JOBS = ("spec", "replicatedJobs")
_RUNTIME_JOBS = ("spec", "template", "spec", "replicatedJobs")
_PATCHED_JOBS = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_STEP = ("template", "metadata", "labels", "trainer.kubeflow.org/trainjob-ancestor-step")
_POD: Path = ("template", "spec", "template")
_TRAINER, _NODE = "trainer", "node"
_COPIED = {"image": "image", "command": "command", "args": "args", "resourcesPerNode": "resources"}
"""A trainer's fields that replace a container's."""
_BY_NAME = ("containers", "initContainers", "volumes")
_ADDED = ("tolerations", "schedulingGates")


def rendered(job: Object, runtime: Object, patches: Iterable[Object]) -> Object:
    """Return the JobSet of a TrainJob; ``patches`` are those of its runtime that count.

    Raises:
        UndecodableError: the runtime or a patch is not what it should be.
    """
    jobs = [_rendered(job, runtime, one) for one in listed_at(runtime, _RUNTIME_JOBS)]
    for patch in patches:
        changed = {text_at(one, ("name",)): one for one in listed_at(patch, _PATCHED_JOBS)}
        jobs = [_patched(one, changed.get(one.get("name", ""))) for one in jobs]
    found: Object = with_value({}, _JOBS, jobs)
    return found


def _rendered(job: Object, runtime: Object, replicated: Object) -> Object:
    one: Object = {**replicated, "replicas": 1}
    step = text_at(one, _STEP)
    if step == _TRAINER:
        return _with_trainer(job, runtime, one)
    told = found_at(job, ("spec", "initializer", step.removesuffix("-initializer")))
    if step.endswith("-initializer") and isinstance(told, dict):
        uri = [{"name": "STORAGE_URI", "value": told["storageUri"]}] if "storageUri" in told else []
        return _with_env(one, step, [*uri, *listed_at(told, ("env",))])
    return one


def _with_trainer(job: Object, runtime: Object, one: Object) -> Object:
    """Return the replicatedJob that trains, as large as asked and with what the trainer says."""
    trainer = object_at(job, ("spec", "trainer"))
    nodes = _nodes(trainer, runtime)
    if nodes is not None:
        size = {"parallelism": nodes, "completions": nodes}
        spec = {**object_at(one, ("template", "spec")), **size}
        one = with_value(one, ("template", "spec"), spec)
    fields = {_COPIED[name]: trainer[name] for name in _COPIED if name in trainer}
    one = _with_container(one, _NODE, fields)
    return _with_env(one, _NODE, listed_at(trainer, ("env",)))


def _nodes(trainer: Object, runtime: Object) -> int | None:
    policy = found_at(runtime, ("spec", "mlPolicy")) or {}
    asked, own = number_at(trainer, ("numNodes",), -1), number_at(policy, ("numNodes",), -1)
    nodes = asked if asked >= 0 else own
    if nodes < 0:
        return None
    launches = found_at(policy, ("mpi", "runLauncherAsNode")) is True
    return max(nodes - 1, 0) if launches else nodes


def _with_env(one: Object, container: str, env: list[Object]) -> Object:
    containers = listed_at(one, (*_POD, "spec", "containers"))
    held = next((each.get("env") for each in containers if each.get("name") == container), None)
    kept = _by_name(held or [], env)
    return _with_container(one, container, {"env": kept}) if env else one


def _with_container(one: Object, name: str, fields: Object) -> Object:
    path = (*_POD, "spec", "containers")
    changed = [
        {**each, **fields} if each.get("name") == name else each for each in listed_at(one, path)
    ]
    result: Object = with_value(one, path, changed)
    return result


def _patched(one: Object, patch: Object | None) -> Object:
    """Return a replicatedJob with what a patch says of its pods."""
    found = None if patch is None else found_at(patch, _POD)
    if not isinstance(found, dict):
        return one
    pod = found_at(one, _POD) or {}
    result: Object = with_value(one, _POD, _merged(pod, found))
    return result


def _merged(held: Any, patch: Any, field: str = "") -> Any:  # noqa: ANN401 - any JSON
    match held, patch:
        case dict(), dict():
            return {**held, **{key: _merged(held.get(key), one, key) for key, one in patch.items()}}
        case list(), list() if field in _BY_NAME:
            return _by_name(held, patch)
        case list(), list() if field in _ADDED:
            return [*held, *(one for one in patch if one not in held)]
        case _:
            return patch


def _by_name(held: list[Object], patch: list[Object]) -> list[Object]:
    """Return a list whose items have names, those of the patch over those that are there."""
    known = {str(one.get("name")): one for one in held}
    for one in patch:
        name = str(one.get("name"))
        known[name] = _merged(known.get(name), one)
    return list(known.values())
