"""All that a cluster is given: CRDs, and the policies that need them, in the order to apply.

Made at run time from the types, so that an installed wheel and a checkout give the same; what
lies in ``deploy/`` is this, written down.
"""

from __future__ import annotations

from tidegate.kinds.crds import crds
from tidegate.kinds.people import people
from tidegate.kinds.policies.children import keep_children
from tidegate.kinds.policies.disabled import WARN, warn_of_disabled
from tidegate.kinds.policies.forms import Manifest
from tidegate.kinds.policies.frameworks import (
    FRAMEWORKS,
    NOT_A_CHILD,
    Framework,
    chosen,
    declared_framework,
    not_a_child,
)
from tidegate.kinds.policies.guards.jobs import job_guards
from tidegate.kinds.policies.guards.quotas import quota_guards
from tidegate.kinds.policies.guards.workloads import workload_guards
from tidegate.kinds.policies.jobs import (
    QUEUED_JOBS,
    Managed,
    default_priority,
    default_queue,
    gate_pods,
    suspend,
)
from tidegate.kinds.policies.marks import keep_gates, keep_marks
from tidegate.kinds.policies.spelling import job_authors, quota_objects
from tidegate.kinds.policies.templates.numbering import number_pods
from tidegate.kinds.policies.templates.serving import mark_templates, serving_guards
from tidegate.kinds.policies.templates.serving_kinds import Serving, served
from tidegate.model.declaration import Declaration

DEFAULT_FRAMEWORKS = ("batch/job",)
"""What policies are about unless told otherwise: kinds that nobody starts must not be suspended."""


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
    told = {f"crds/{crd['metadata']['name']}.yaml": [crd] for crd in crds()}
    others = tuple(map(declared_framework, declared))
    kinds, pods = (*chosen(frameworks), *others), "pod" in frameworks
    serving = served(frameworks)
    about: list[Framework | Serving] = [*kinds, *serving]
    made = [one.target("CREATE") for one in about]
    changed = [one.target("CREATE", "UPDATE") for one in about]
    told["policies/write-quota.yaml"] = quota_objects()
    told["policies/check-quota.yaml"] = quota_guards()
    told["policies/check-workloads.yaml"] = workload_guards()
    told["policies/check-jobs.yaml"] = job_guards(kinds)
    told["policies/author-jobs.yaml"] = job_authors(changed)
    told["policies/default-queue.yaml"] = default_queue(made, pods=pods)
    told["policies/default-priority.yaml"] = default_priority(made, pods=pods)
    for kind in kinds:
        told[f"policies/suspend-{kind.slug}.yaml"] = [
            *suspend(kind, managed),
            *number_pods(kind, managed),
        ]
    for each in serving:
        told[f"policies/mark-{each.slug}.yaml"] = [
            *mark_templates(each, managed),
            *serving_guards(each),
        ]
    if pods:
        parents = tuple(one.name for one in serving if one.stands_for_pods)
        told["policies/gate-pods.yaml"] = gate_pods(managed, parents)
    told["policies/keep-children.yaml"] = keep_children(changed, others)
    told["policies/keep-marks.yaml"] = keep_marks(changed, pods=pods)
    told["policies/keep-gates.yaml"] = keep_gates()
    told["policies/disabled-kinds.yaml"] = warn_of_disabled(
        frameworks, managed.namespaces, on_disabled
    )
    told["rbac/people.yaml"] = people(FRAMEWORKS)
    return {path: [_knowing(one, others) for one in made] for path, made in told.items()}


def policies(
    frameworks: tuple[str, ...] = DEFAULT_FRAMEWORKS,
    declared: tuple[Declaration, ...] = (),
    managed: Managed = QUEUED_JOBS,
    on_disabled: tuple[str, ...] = WARN,
) -> list[Manifest]:
    """Return the policies about these job kinds, by the names of Kueue's configuration."""
    told = files(frameworks, declared, managed, on_disabled).items()
    return [one for path, manifests in told if path.startswith("policies/") for one in manifests]


def _knowing(manifest: Manifest, declared: tuple[Framework, ...]) -> Manifest:
    """Return a policy that leaves the children of declared kinds alone as well."""
    conditions = manifest.get("spec", {}).get("matchConditions")
    if not declared or not conditions:
        return manifest
    told = [
        {**one, "expression": not_a_child(declared)} if one["expression"] == NOT_A_CHILD else one
        for one in conditions
    ]
    return {**manifest, "spec": {**manifest["spec"], "matchConditions": told}}
