"""Mutations of jobs: suspended or gated until admitted, and given the defaults of a namespace."""

from __future__ import annotations

from tidegate.kinds.names import ADMISSION_GATE, MANAGED, PRIORITY_CLASS, QUEUE_NAME
from tidegate.kinds.policies.forms import (
    Manifest,
    Param,
    Scope,
    Target,
    applied,
    label,
    mutating,
    noted,
    patched,
)
from tidegate.kinds.policies.frameworks import TOPMOST, Framework

_QUEUED = f"{label(QUEUE_NAME)} != ''"
_PODS = Target(group="", versions=("v1",), resources=("pods",), operations=("CREATE",))


def suspend(framework: Framework) -> list[Manifest]:
    """Return the policy that suspends a queued job when it is made.

    Policies are invoked again after each that changed something; the second condition keeps this
    one from patching what it has suspended already.
    """
    *parents, field = framework.suspend.split(".")
    running = {"not-suspended": framework.running}
    scope = Scope(targets=[framework.target("CREATE")], conditions=TOPMOST | running)
    mutation = patched(f"{_QUEUED} ? {_suspended(parents, field)} : []")
    return mutating(f"suspend-{framework.slug}", scope, [mutation])


def default_queue(frameworks: tuple[Framework, ...], *, pods: bool = False) -> list[Manifest]:
    """Return the policy that gives jobs the LocalQueue ``default`` of a namespace that has one."""
    scope = _defaults(frameworks, "LocalQueue", pods=pods)
    return mutating("default-queue", scope, [_given(QUEUE_NAME, f"!({_QUEUED})")])


def default_priority(frameworks: tuple[Framework, ...], *, pods: bool = False) -> list[Manifest]:
    """Return the policy that gives queued jobs the WorkloadPriorityClass ``default``, if any."""
    scope = _defaults(frameworks, "WorkloadPriorityClass", pods=pods)
    wanting = f"{_QUEUED} && {label(PRIORITY_CLASS)} == ''"
    return mutating("default-priority", scope, [_given(PRIORITY_CLASS, wanting)])


def gate_pods() -> list[Manifest]:
    """Return the policy that gates a queued Pod when it is made; one with a node is left alone."""
    gate = f'Object.spec.schedulingGates{{name: "{ADMISSION_GATE}"}}'
    gated = (
        f"Object{{metadata: Object.metadata{{labels: {{'{MANAGED}': 'true'}}}},"
        f" spec: Object.spec{{schedulingGates: [{gate}]}}}}"
    )
    waiting = {"without-a-node": "object.spec.?nodeName.orValue('') == ''"}
    scope = Scope(targets=[_PODS], conditions=TOPMOST | waiting)
    return mutating("gate-pods", scope, [applied(f"{_QUEUED} ? {gated} : Object{{}}")])


def _defaults(frameworks: tuple[Framework, ...], kind: str, *, pods: bool) -> Scope:
    targets = [one.target("CREATE") for one in frameworks] + ([_PODS] if pods else [])
    return Scope(targets=targets, conditions=TOPMOST, param=Param(kind=kind))


def _given(key: str, wanting: str) -> Manifest:
    return patched(f"{wanting} ? {noted('labels', key, 'params.metadata.name')} : []")


def _suspended(parents: list[str], field: str) -> str:
    # JSON Patch makes no parents, so each that is missing is added first.
    made = [
        f"(has(object.{'.'.join(parents[:depth])}) ? []"
        f" : [JSONPatch{{op: 'add', path: '/{'/'.join(parents[:depth])}', value: {{}}}}])"
        for depth in range(2, len(parents) + 1)
    ]
    path = "/".join(["", *parents, field])
    return " + ".join([*made, f"[JSONPatch{{op: 'add', path: '{path}', value: true}}]"])
