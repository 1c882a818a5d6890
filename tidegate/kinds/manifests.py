"""All that a cluster is given: CRDs, and the policies that need them, in the order to apply.

Made at run time from the types, so that an installed wheel and a checkout give the same; what
lies in ``deploy/`` is this, written down.
"""

from __future__ import annotations

from tidegate.kinds.crds import crds
from tidegate.kinds.policies.children import protect_children
from tidegate.kinds.policies.disabled import WARN, queued_kinds, warn_of_disabled
from tidegate.kinds.policies.forms import Manifest
from tidegate.kinds.policies.frameworks import (
    FRAMEWORKS,
    NOT_A_CHILD,
    Framework,
    declared_framework,
    frameworks_named,
    has_no_known_controller,
)
from tidegate.kinds.policies.guards.jobs import job_guards
from tidegate.kinds.policies.guards.pods import pod_guards
from tidegate.kinds.policies.guards.quotas import quota_guards
from tidegate.kinds.policies.guards.workloads import workload_guards
from tidegate.kinds.policies.jobs import (
    QUEUED_JOBS,
    Managed,
    default_priority_policy,
    default_queue_policy,
    gate_pods_policy,
    suspend_policy,
)
from tidegate.kinds.policies.managed_by import default_managed_by_policy
from tidegate.kinds.policies.marks import protect_gates, protect_marks
from tidegate.kinds.policies.spelling import job_authors, quota_objects
from tidegate.kinds.policies.templates.numbering import number_pods_policy
from tidegate.kinds.policies.templates.serving import mark_templates_policy, serving_guards
from tidegate.kinds.policies.templates.serving_kinds import Serving, serving_kinds_named
from tidegate.kinds.rights import people_roles, unqueued_role
from tidegate.model.declaration import Declaration

DEFAULT_FRAMEWORKS = ("batch/job",)
"""The kinds that policies suspend by default: a kind without a starter must not be suspended."""


def files(
    frameworks: tuple[str, ...] = DEFAULT_FRAMEWORKS,
    declared: tuple[Declaration, ...] = (),
    managed: Managed = QUEUED_JOBS,
    on_disabled: tuple[str, ...] = WARN,
) -> dict[str, list[Manifest]]:
    """Return every manifest by the file below ``deploy/`` that it belongs in, CRDs first.

    CRDs must be established before the policies are applied: a policy that names a missing kind
    as its parameter is skipped for up to half a minute after the kind has come. For some seconds
    after a CRD came the API server answers 503 to writes of its objects while a mutating policy is
    about them, whatever the failurePolicy: wait until a dry-run creation is answered otherwise.
    """
    documents = {f"crds/{crd['metadata']['name']}.yaml": [crd] for crd in crds()}
    others = tuple(map(declared_framework, declared))
    kinds, pods = (*frameworks_named(frameworks), *others), "pod" in frameworks
    serving = serving_kinds_named(frameworks)
    about: list[Framework | Serving] = [*kinds, *serving]
    created = [framework.target("CREATE") for framework in about]
    changed = [framework.target("CREATE", "UPDATE") for framework in about]
    documents["policies/write-quota.yaml"] = quota_objects()
    documents["policies/check-quota.yaml"] = quota_guards()
    documents["policies/check-workloads.yaml"] = workload_guards()
    documents["policies/check-jobs.yaml"] = job_guards(kinds)
    documents["policies/author-jobs.yaml"] = job_authors(changed)
    documents["policies/default-queue.yaml"] = default_queue_policy(created, pods=pods)
    documents["policies/default-priority.yaml"] = default_priority_policy(created, pods=pods)
    for kind in kinds:
        documents[f"policies/suspend-{kind.slug}.yaml"] = [
            *suspend_policy(kind, managed),
            *number_pods_policy(kind, managed),
            *default_managed_by_policy(kind),
        ]
    for each in serving:
        documents[f"policies/mark-{each.slug}.yaml"] = [
            *mark_templates_policy(each, managed),
            *serving_guards(each),
        ]
    if pods:
        parents = tuple(kind.name for kind in serving if kind.stands_for_pods)
        documents["policies/gate-pods.yaml"] = gate_pods_policy(managed, parents)
        documents["policies/check-pods.yaml"] = pod_guards()
    documents["policies/keep-children.yaml"] = protect_children(changed, others)
    documents["policies/keep-marks.yaml"] = protect_marks(changed, pods=pods)
    documents["policies/keep-gates.yaml"] = protect_gates()
    documents["policies/disabled-kinds.yaml"] = warn_of_disabled(
        frameworks, managed.namespaces, on_disabled
    )
    documents |= _roles()
    return {
        path: [_knowing(manifest, others) for manifest in manifests]
        for path, manifests in documents.items()
    }


def _roles() -> dict[str, list[Manifest]]:
    return {
        "rbac/people.yaml": people_roles(FRAMEWORKS),
        "rbac/unqueued.yaml": unqueued_role(queued_kinds(())),
    }


def policies(
    frameworks: tuple[str, ...] = DEFAULT_FRAMEWORKS,
    declared: tuple[Declaration, ...] = (),
    managed: Managed = QUEUED_JOBS,
    on_disabled: tuple[str, ...] = WARN,
) -> list[Manifest]:
    """Return the policies about these job kinds, by the names of Kueue's configuration."""
    documents = files(frameworks, declared, managed, on_disabled).items()
    return [
        manifest
        for path, manifests in documents
        if path.startswith("policies/")
        for manifest in manifests
    ]


def _knowing(manifest: Manifest, declared: tuple[Framework, ...]) -> Manifest:
    """Return a policy that leaves the children of declared kinds alone as well."""
    conditions = manifest.get("spec", {}).get("matchConditions")
    if not declared or not conditions:
        return manifest
    conditions_after = [
        {**condition, "expression": has_no_known_controller(declared)}
        if condition["expression"] == NOT_A_CHILD
        else condition
        for condition in conditions
    ]
    return {**manifest, "spec": {**manifest["spec"], "matchConditions": conditions_after}}
