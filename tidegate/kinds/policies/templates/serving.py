"""Kinds that are queued through their pods: what is put into their templates, and what may change.

No field suspends a Deployment, a StatefulSet or a LeaderWorkerSet: their pods are gated instead,
and the templates say by which kind they are.

Source: behaviour.md 16; the cases of ``tests.kinds`` of these kinds.
"""

from __future__ import annotations

from tidegate.kinds.names import PRIORITY_CLASS, QUEUE_NAME
from tidegate.kinds.policies.forms import (
    Check,
    Manifest,
    Scope,
    label,
    mutating,
    patched,
    validating,
)
from tidegate.kinds.policies.frameworks import TOPMOST
from tidegate.kinds.policies.jobs import QUEUED_JOBS, Managed
from tidegate.kinds.policies.templates.numbering import from_one, made_at, set_in
from tidegate.kinds.policies.templates.serving_kinds import ServedTemplate, Serving


def mark_templates(kind: Serving, managed: Managed = QUEUED_JOBS) -> list[Manifest]:
    """Return the policy that marks the templates of a managed object."""
    scope = Scope(
        targets=[kind.target("CREATE", "UPDATE")],
        conditions=_TOPMOST,
        namespaces=managed.namespaces,
    )
    patches = " + ".join(f"({_marked(template)})" for template in kind.templates)
    mutation = patched(f"{managed.condition} ? {patches} : []")
    return mutating(f"mark-{kind.slug}", scope, [mutation])


def serving_guards(kind: Serving) -> list[Manifest]:
    """Return the policies about a queued object: its labels, and what may change while it runs."""
    scope = Scope(targets=[kind.target("CREATE", "UPDATE")], conditions=_TOPMOST)
    changed = Scope(targets=[kind.target("UPDATE")], conditions=_TOPMOST)
    checks = [*_CHANGES, *(() if kind.scales else _SCALED)]
    return [
        *validating(f"check-{kind.slug}", scope, _LABELS),
        *validating(f"check-{kind.slug}-changes", changed, checks, _VARIABLES),
    ]


def _marked(template: ServedTemplate) -> str:
    """Return the JSONPatch list that marks one template; none where it is marked."""
    labels = [_copied(template.path, key) for key in template.copied]
    labels += [set_in(template.path, "labels", key, f"'{v}'") for key, v in template.labels.items()]
    notes = [
        set_in(template.path, "annotations", key, f"'{v}'")
        for key, v in template.annotations.items()
    ]
    if template.numbered_from_one:
        notes.append(from_one(template.path, template.numbered_from_one))
    parents = [made_at(f"{template.path}.metadata")]
    parents += [made_at(f"{template.path}.metadata.labels")] if labels else []
    parents += [made_at(f"{template.path}.metadata.annotations")]
    return f"{template.there} ? {' + '.join([*parents, *labels, *notes])} : []"


def _copied(path: str, key: str) -> str:
    return f"({label(key)} != '' ? {set_in(path, 'labels', key, label(key))} : [])"


def _of(of: str, field: str) -> str:
    containers = f"{of}.spec.template.spec.?{field}.orValue([])"
    return f"{containers}.map(c, [c.?resources.?requests, c.?resources.?limits])"


_TOPMOST = TOPMOST | {
    "no-part-of-a-set": "!object.metadata.?ownerReferences.orValue([]).exists(o,"
    " o.?controller.orValue(false) && o.kind in ['LeaderWorkerSet', 'Pod'])"
}
_VARIABLES = {
    "running": "oldObject.?status.?readyReplicas.orValue(0) > 0",
    "replicas": "object.?spec.?replicas.orValue(1)",
    "before": "oldObject.?spec.?replicas.orValue(1)",
    "queued": f"{label(QUEUE_NAME)} != ''",
}
_LABELS = (
    Check(
        f"{label(QUEUE_NAME)}.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",
        f"metadata.labels[{QUEUE_NAME}] is the name of a LocalQueue",
    ),
)
_CHANGES = (
    Check(
        f"{label(QUEUE_NAME)} == {label(QUEUE_NAME, 'oldObject')}"
        f" || (!variables.running && {label(QUEUE_NAME)} != '')",
        f"metadata.labels[{QUEUE_NAME}] may not be removed, nor change while pods are ready",
    ),
    Check(
        f"{label(PRIORITY_CLASS)} != '' || {label(PRIORITY_CLASS, 'oldObject')} == ''",
        f"metadata.labels[{PRIORITY_CLASS}] may change, but not be removed",
    ),
)
_ASKED = " && ".join(
    [
        f"object.spec.template.spec.{field} == oldObject.spec.template.spec.{field}"
        for field in ("?nodeSelector", "?tolerations", "?affinity")
    ]
    + [
        f"{_of('object', field)} == {_of('oldObject', field)}"
        for field in ("containers", "initContainers")
    ]
)
_SCALED = (
    Check(
        f"!variables.queued || variables.before == 0 || ({_ASKED})",
        "spec.template.spec of a queued object keeps its resources, nodeSelector, tolerations and"
        " affinity while there are replicas: scale it to 0 first",
    ),
    Check(
        "!variables.queued || variables.replicas == variables.before"
        " || variables.replicas == 0 || variables.before == 0",
        "spec.replicas of a queued object may become 0, and from 0 any number",
    ),
    Check(
        "!variables.queued || variables.before != 0 || variables.replicas == 0"
        " || oldObject.?status.?replicas.orValue(0) == 0",
        "spec.replicas may grow once the pods from before are gone",
    ),
)
