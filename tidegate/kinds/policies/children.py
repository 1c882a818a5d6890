"""Children of job kinds: a JobSet's Jobs are charged with it, so only its controller makes them.

Nor does any other user change what they run. A user who may write the status of a kind counts as
its controller. A Job's own children are no matter: they are queued, or suspended with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.kinds.policies.forms import Check, Manifest, Scope, Target, validating_policy
from tidegate.kinds.policies.frameworks import FRAMEWORKS, Framework

KEEP_CHILDREN = "keep-children"
_OWNED = "{}.metadata.?ownerReferences.orValue([]).exists(o, {})"
_SCALES_ITSELF = (
    "object.kind == 'RayCluster' && object.?spec.?enableInTreeAutoscaling.orValue(false)"
    " && oldObject.?spec.?enableInTreeAutoscaling.orValue(false)"
)


def protect_children(jobs: Sequence[Target], declared: Sequence[Framework] = ()) -> list[Manifest]:
    """Return the policy about objects of these kinds that name a controller of a known kind."""
    owners = [framework for framework in (*FRAMEWORKS, *declared) if framework.name != "batch/job"]
    any_of_them = f"({' || '.join(map(_is_child_of, owners))})"
    before = "oldObject.metadata.?ownerReferences.orValue([]).exists(p, p.uid == o.uid)"
    newly = _OWNED.format("object", f"{any_of_them} && (!({before}) || ({_runs_something_else()}))")
    at_first = _OWNED.format("object", any_of_them)
    scope = Scope(
        targets=jobs,
        conditions={
            "newly-owned-or-changed": f"request.operation == 'CREATE' ? {at_first} : {newly}",
        },
    )
    return validating_policy(KEEP_CHILDREN, scope, [_check(owner) for owner in owners])


def _runs_something_else() -> str:
    """Return the expression of whether an object runs something else than before.

    Ray's autoscaler changes how many workers there are, by the rights of the tenant's own account:
    more of them than were admitted wait behind their gates.
    """

    def pods(of: str) -> str:
        groups = f"{of}.spec.?workerGroupSpecs.orValue([]).map(g, [g.?groupName, g.?template])"
        return f"[[{of}.spec.?headGroupSpec]] + {groups}"

    anything = "object.?spec != oldObject.?spec"
    return f"{_SCALES_ITSELF} ? {pods('object')} != {pods('oldObject')} : {anything}"


def _is_child_of(kind: Framework) -> str:
    group = f"o.apiVersion.startsWith('{kind.group}/')"
    return f"(o.?controller.orValue(false) && o.kind == '{kind.kind}' && {group})"


def _check(kind: Framework) -> Check:
    status = (
        f"authorizer.group('{kind.group}').resource('{kind.resource}').subresource('status')"
        ".namespace(object.metadata.namespace)"
    )
    may = " || ".join(f"{status}.check('{verb}').allowed()" for verb in ("update", "patch"))
    message = (
        f"metadata.ownerReferences: made, and its spec changed, only by the controller of"
        f" {kind.kind}, which may write {kind.resource}/status"
    )
    return Check(f"!{_OWNED.format('object', _is_child_of(kind))} || {may}", message)
