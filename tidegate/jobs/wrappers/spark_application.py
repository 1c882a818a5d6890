"""SparkApplication: a podset for its driver and one for its executors; ``spec.suspend``.

Its fields say what their pods are like; templates in them are only added to. What is charged is
what Kueue charges: not the memory overhead that Spark adds to what a pod asks for.

Called: SparkApplication v1beta2; needs ``featureGates: {SparkApplicationIntegration: true}``, which
is closed by default; without it a configuration that names the kind is refused
Podsets: ``driver``: 1 pod, ``executor``: ``spec.executor.instances``; charged as Kueue does:
``coreRequest``, ``memory``, without Spark's memory overhead
Restored: all those fields
Put in: node labels, tolerations, labels and annotations, in the fields of each role; a node
selector for both becomes the roles' own

Source: behaviour.md 16, SparkApplication.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.contracts.decisions import PodSetStart
from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import (
    Path,
    list_at,
    number_at,
    object_at,
    path_text,
    text_at,
    value_at,
    with_value,
)
from tidegate.jobs.templates.template import conflicting_key, inject_start
from tidegate.jobs.wrappers.spark_pods import ROLES, built_template, container_name
from tidegate.kinds.policies.frameworks import framework

_GLOBAL = ("spec", "nodeSelector")
_FIELDS = ("labels", "annotations", "nodeSelector", "tolerations", "template")
_ENDS = {"COMPLETED": "Succeeded", "FAILED": "Failed", "SUBMISSION_FAILED": "Failed"}
_CONF = ("spec", "sparkConf")
_GROWS = "spark.dynamicAllocation.enabled"
_SIZES: dict[str, Path] = {
    "spark.executor.instances": ("spec", "executor", "instances"),
    "spark.driver.memory": ("spec", "driver", "memory"),
    "spark.executor.memory": ("spec", "executor", "memory"),
    "spark.kubernetes.driver.request.cores": ("spec", "driver", "coreRequest"),
    "spark.kubernetes.executor.request.cores": ("spec", "executor", "coreRequest"),
}
"""Properties by which Spark goes where the field that is charged is not given."""
_IDLE = ("", "NEW", "SUSPENDED", "PENDING_RERUN", *_ENDS)
"""States without pods; in all others there may be some."""


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets of a SparkApplication.

    Raises:
        UndecodableError: it runs its driver elsewhere, changes its executors by itself, or says in
            its properties what is to be charged.
    """
    mode = text_at(obj, ("spec", "mode"))
    if mode not in ("", "cluster"):
        raise UndecodableError(f"spec.mode: {mode[:80]!r} runs no driver in the cluster.")
    conf = object_at(obj, _CONF)
    by_conf = str(conf.get(_GROWS, "")).strip().lower() == "true"
    if by_conf or value_at(obj, ("spec", "dynamicAllocation", "enabled")) is True:
        raise UndecodableError(
            "spec.dynamicAllocation.enabled: executors that come and go by themselves are not "
            "supported."
        )
    for name, field in _SIZES.items():
        if name in conf and value_at(obj, field) is None:
            raise UndecodableError(f"spec.sparkConf[{name}]: say it in {path_text(field)}.")
    executors = number_at(obj, ("spec", "executor", "instances"), 0)
    counts = dict(zip(ROLES, (1, executors), strict=True))
    return tuple(
        PodSetLocation(name=role, count=count, built=built_template(obj, role))
        for role, count in counts.items()
    )


def status_of(obj: Object) -> JobStatus:
    """Return how a SparkApplication stands."""
    state = text_at(obj, ("status", "applicationState", "state"))
    executors = object_at(obj, ("status", "executorState"))
    up = sum(state in ("RUNNING", "COMPLETED") for state in executors.values())
    instances = number_at(obj, ("spec", "executor", "instances"), 0)
    return JobStatus(
        finished=_ENDS.get(state, ""),
        message=text_at(obj, ("status", "applicationState", "errorMessage")),
        active=int(state not in _IDLE),
        ready=state == "RUNNING" and up >= instances,
    )


def inject(obj: Object, podsets: Mapping[str, PodSetStart]) -> Object:
    """Return a SparkApplication with what each role is given in its fields.

    A node selector for both roles would exclude those of the roles, so it becomes theirs.

    Raises:
        UndecodableError: both roles' node selector asks for other nodes.
    """
    both = value_at(obj, _GLOBAL)
    for role in ROLES:
        obj = _inject_role(obj, role, podsets[role], both)
    return obj if both is None else with_value(obj, _GLOBAL, None)


def overwritten_paths(obj: Object) -> tuple[Path, ...]:
    """Return where ``inject`` writes."""
    del obj
    return (_GLOBAL, *(("spec", role, field) for role in ROLES for field in _FIELDS))


def _inject_role(obj: Object, role: str, podset: PodSetStart, both: Object | None) -> Object:
    fields = object_at(obj, ("spec", role))
    meta = {name: fields[name] for name in ("labels", "annotations") if name in fields}
    spec = {name: fields[name] for name in ("nodeSelector", "tolerations") if name in fields}
    template = {"metadata": meta, "spec": spec | ({} if both is None else {"nodeSelector": both})}
    problem = conflicting_key(template, podset)
    if problem:
        raise UndecodableError(problem)
    after, _ = inject_start(template, podset)
    changed = {**after.get("metadata", {}), **after["spec"]}
    gates = changed.pop("schedulingGates", [])
    changed["template"] = _with_gates(fields.get("template"), role, gates)
    result: Object = with_value(obj, ("spec", role), {**fields, **changed})
    return result


def _with_gates(template: Object | None, role: str, gates: list[Object]) -> Object:
    """Return a role's own template, or an empty one, with gates."""
    own = template or {"spec": {"containers": [{"name": container_name(role)}]}}
    present = list_at(own, ("spec", "schedulingGates"))
    merged = [*present, *(gate for gate in gates if gate not in present)]
    result: Object = with_value(own, ("spec", "schedulingGates"), merged or None)
    return result


KIND = suspended_kind(
    framework("sparkoperator.k8s.io/sparkapplication"),
    Layout(
        podset_locations=podset_locations,
        status_of=status_of,
        inject=inject,
        overwritten_paths=overwritten_paths,
    ),
)
