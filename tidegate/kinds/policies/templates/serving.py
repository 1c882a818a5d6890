"""Kinds that are queued through their pods: what is put into their templates, and what may change.

No field suspends a Deployment, a StatefulSet or a LeaderWorkerSet: their pods are gated instead,
and the templates say by which kind they are.

Source: behaviour.md 16; the cases of ``tests.kinds`` of these kinds.
"""

from __future__ import annotations

from tidegate.kinds.names import ADMISSION_GATED_BY, PRIORITY_CLASS, QUEUE_NAME
from tidegate.kinds.policies.forms import (
    Check,
    Manifest,
    Scope,
    apply_patch,
    are_paths,
    label,
    mutating_policy,
    only_removed,
    validating_policy,
)
from tidegate.kinds.policies.frameworks import TOPMOST
from tidegate.kinds.policies.jobs import QUEUED_JOBS, Managed
from tidegate.kinds.policies.templates.numbering import create_at, number_from_one, set_in_template
from tidegate.kinds.policies.templates.serving_kinds import (
    LEADER_WORKER_SET,
    ServedTemplate,
    Serving,
)


def mark_templates_policy(kind: Serving, managed: Managed = QUEUED_JOBS) -> list[Manifest]:
    """Return the policy that marks the templates of a managed object."""
    scope = Scope(
        targets=[kind.target("CREATE", "UPDATE")],
        conditions=_TOPMOST,
        namespaces=managed.namespaces,
    )
    patches = " + ".join(f"({_mark_patch(template)})" for template in kind.templates)
    mutation = apply_patch(f"{managed.condition} ? {patches} : []")
    return mutating_policy(f"mark-{kind.slug}", scope, [mutation])


def serving_guards(kind: Serving) -> list[Manifest]:
    """Return the policies about a queued object: its labels, and what may change while it runs."""
    scope = Scope(targets=[kind.target("CREATE", "UPDATE")], conditions=_TOPMOST)
    changed = Scope(targets=[kind.target("UPDATE")], conditions=_TOPMOST)
    return [
        *validating_policy(f"check-{kind.slug}", scope, _LABELS),
        *validating_policy(f"check-{kind.slug}-changes", changed, _change_checks(kind), _VARIABLES),
    ]


def _mark_patch(template: ServedTemplate) -> str:
    """Return the JSONPatch list that marks one template; none where it is marked."""
    labels = [_copy_patch(template.path, key) for key in template.copied]
    labels += [
        set_in_template(template.path, "labels", key, f"'{v}'")
        for key, v in template.labels.items()
    ]
    notes = [
        set_in_template(template.path, "annotations", key, f"'{v}'")
        for key, v in template.annotations.items()
    ]
    if template.numbered_from_one:
        notes.append(number_from_one(template.path, template.numbered_from_one))
    parents = [create_at(f"{template.path}.metadata")]
    parents += [create_at(f"{template.path}.metadata.labels")] if labels else []
    parents += [create_at(f"{template.path}.metadata.annotations")]
    return f"{template.exists} ? {' + '.join([*parents, *labels, *notes])} : []"


def _copy_patch(path: str, key: str) -> str:
    return f"({label(key)} != '' ? {set_in_template(path, 'labels', key, label(key))} : [])"


def _change_checks(kind: Serving) -> list[Check]:
    """Return the checks of a change: what a Workload stands for stays while there are pods."""
    templates = [
        _unchanged_check(template.path) for template in kind.templates if kind.stands_for_pods
    ]
    return [*_CHANGES, *templates, *(() if kind.scales else _SCALED), *_OF_KIND.get(kind.name, ())]


def _unchanged_check(path: str) -> Check:
    spec = f"{path.replace('.', '.?')}.?spec"
    unchanged = " && ".join(
        [f"object.{spec}.{field} == oldObject.{spec}.{field}" for field in _PLACED]
        + [
            f"{_container_requests('object', spec, field)} == "
            f"{_container_requests('oldObject', spec, field)}"
            for field in _RUN
        ]
    )
    return Check(
        f"!variables.queued || variables.before == 0 || ({unchanged})",
        f"{path}.spec of a queued object keeps its resources, nodeSelector, tolerations and"
        " affinity while there are replicas: scale it to 0 first",
    )


def _container_requests(of: str, spec: str, field: str) -> str:
    """Return the expression of what containers request; limits count where they request nothing."""
    requests, limits = "c.?resources.?requests", "c.?resources.?limits"
    return (
        f"{of}.{spec}.?{field}.orValue([])"
        f".map(c, [{requests}, {requests}.hasValue() ? optional.none() : {limits}])"
    )


_PLACED = ("?nodeSelector", "?tolerations", "?affinity")
_RUN = ("containers", "initContainers")
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
    are_paths(ADMISSION_GATED_BY, "request.operation == 'UPDATE'"),
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
    Check(
        f"!variables.running || {label(PRIORITY_CLASS)} == ''"
        f" || {label(PRIORITY_CLASS, 'oldObject')} != ''",
        f"metadata.labels[{PRIORITY_CLASS}] may change, but not be added while pods are ready",
    ),
    only_removed(ADMISSION_GATED_BY),
)
_SCALED = (
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
_SIZE = "spec.?leaderWorkerTemplate.?size.orValue(1)"
_OF_KIND: dict[str, tuple[Check, ...]] = {
    LEADER_WORKER_SET: (
        Check(
            f"!variables.queued || variables.before == 0 || object.{_SIZE} == oldObject.{_SIZE}",
            "spec.leaderWorkerTemplate.size of a queued object stays while there are replicas:"
            " scale it to 0 first",
        ),
    )
}
"""Checks that only one kind has, by its name."""
