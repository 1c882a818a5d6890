"""Mutations of jobs: suspended or gated until admitted, and given the defaults of a namespace."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.kinds.names import (
    ADMISSION_GATE,
    MANAGED,
    PRIORITY_CLASS,
    QUEUE_NAME,
    SERVING_POD,
    SUSPENDING_PARENT,
    TOPOLOGY_GATE,
)
from tidegate.kinds.policies.forms import (
    Manifest,
    Param,
    Scope,
    Target,
    annotation,
    apply_patch,
    label,
    mutating_policy,
    set_text_patch,
)
from tidegate.kinds.policies.frameworks import TOPMOST, Framework
from tidegate.model.podset import LabelSelector

_QUEUED = f"{label(QUEUE_NAME)} != ''"
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of the pods by which a kubelet shows its static pods; it runs no other pod with it."""
NO_PARENTS: tuple[str, ...] = ()
_PODS = Target(group="", versions=("v1",), resources=("pods",), operations=("CREATE",))


class Managed(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs are managed: the same as ``ingest.jobs.scope`` has it."""

    without_queue: bool = False  # manageJobsWithoutQueueName
    namespaces: LabelSelector | None = None  # managedJobsNamespaceSelector

    @property
    def condition(self) -> str:
        """Return the expression of whether an object of such a namespace is managed."""
        return "true" if self.without_queue else _QUEUED


QUEUED_JOBS = Managed()
"""What is managed unless it is configured otherwise."""


def suspend_policy(framework: Framework, managed: Managed = QUEUED_JOBS) -> list[Manifest]:
    """Return the policy that suspends a managed job when it is made.

    Policies are invoked again after each that changed something; the second condition keeps this
    one from patching what it has suspended already.
    """
    *parents, field = framework.suspend.split(".")
    running = {"not-suspended": framework.running}
    own = {"its-own-controller": framework.own_controller} if framework.controller else {}
    scope = Scope(
        targets=[framework.target("CREATE")],
        conditions=TOPMOST | running | own,
        namespaces=managed.namespaces,
    )
    mutation = apply_patch(f"{managed.condition} ? {_has_suspended_parent(parents, field)} : []")
    return mutating_policy(f"suspend-{framework.slug}", scope, [mutation])


def default_queue_policy(targets: Sequence[Target], *, pods: bool = False) -> list[Manifest]:
    """Return the policy that gives jobs the LocalQueue ``default`` of a namespace that has one."""
    scope = _defaults(targets, "LocalQueue", pods=pods)
    return mutating_policy("default-queue", scope, [_default_mutation(QUEUE_NAME, f"!({_QUEUED})")])


def default_priority_policy(targets: Sequence[Target], *, pods: bool = False) -> list[Manifest]:
    """Return the policy that gives queued jobs the WorkloadPriorityClass ``default``, if any."""
    scope = _defaults(targets, "WorkloadPriorityClass", pods=pods)
    wanting = f"{_QUEUED} && {label(PRIORITY_CLASS)} == ''"
    return mutating_policy("default-priority", scope, [_default_mutation(PRIORITY_CLASS, wanting)])


def gate_pods_policy(
    managed: Managed = QUEUED_JOBS, parents: tuple[str, ...] = NO_PARENTS
) -> list[Manifest]:
    """Return the policy that gates a managed Pod when it is made; a node's own is left alone.

    The API server refuses a gated pod that names its node: no scheduler would hold that back. A pod
    has the topology's gate from its creation, for none can be added later. A pod whose annotation
    names one of ``parents`` is managed through that, and bears a label of its own, by which it is
    watched.
    """
    conditions = TOPMOST | {"no-mirror-of-a-static-pod": f"{annotation(MIRROR)} == ''"}
    scope = Scope(targets=[_PODS], conditions=conditions, namespaces=managed.namespaces)
    parent = f"{annotation(SUSPENDING_PARENT)} in {list(parents)}" if parents else "false"
    gates, serving = _gate_patch(MANAGED), _gate_patch(MANAGED, SERVING_POD)
    mutation = apply_patch(f"{parent} ? {serving} : {managed.condition} ? {gates} : []")
    return mutating_policy("gate-pods", scope, [mutation])


def _gate_patch(*labels: str) -> str:
    """Return the JSONPatch list that labels and gates a pod; what stands there already is kept."""
    path = "'/metadata/labels/' + jsonpatch.escapeKey('{}')"
    label_patches = [
        f"JSONPatch{{op: 'add', path: {path.format(key)}, value: 'true'}}" for key in labels
    ]
    gates = [
        f"(object.spec.?schedulingGates.orValue([]).exists(g, g.name == '{name}') ? []"
        " : [JSONPatch{op: 'add', path: '/spec/schedulingGates/-',"
        f" value: {{'name': '{name}'}}}}])"
        for name in (ADMISSION_GATE, TOPOLOGY_GATE)
    ]
    parents = [
        f"({present} ? [] : [JSONPatch{{op: 'add', path: '{path}', value: {value}}}])"
        for present, path, value in (
            ("has(object.metadata.labels)", "/metadata/labels", "{}"),
            ("has(object.spec.schedulingGates)", "/spec/schedulingGates", "[]"),
        )
    ]
    labelled = f"[{', '.join(label_patches)}]"
    return f"({' + '.join([*parents, labelled, *gates])})"


def _defaults(targets: Sequence[Target], kind: str, *, pods: bool) -> Scope:
    targets = [*targets, *([_PODS] if pods else [])]
    return Scope(targets=targets, conditions=TOPMOST, param=Param(kind=kind))


def _default_mutation(key: str, wanting: str) -> Manifest:
    return apply_patch(f"{wanting} ? {set_text_patch('labels', key, 'params.metadata.name')} : []")


def _has_suspended_parent(parents: list[str], field: str) -> str:
    # JSON Patch makes no parents, so each that is missing is added first.
    created = [
        f"(has(object.{'.'.join(parents[:depth])}) ? []"
        f" : [JSONPatch{{op: 'add', path: '/{'/'.join(parents[:depth])}', value: {{}}}}])"
        for depth in range(2, len(parents) + 1)
    ]
    path = "/".join(["", *parents, field])
    return " + ".join([*created, f"[JSONPatch{{op: 'add', path: '{path}', value: true}}]"])
