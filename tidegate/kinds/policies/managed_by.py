"""Mutation of jobs: ``managedBy``, in a LocalQueue whose jobs run in other clusters.

That of MultiKueue: multikueue.md 3.1, 3.2. That of placed jobs: docs/adr/0029.
"""

from __future__ import annotations

from tidegate.kinds.names import PLACED, PLACEMENT, QUEUE_NAME, SENDS_AWAY
from tidegate.kinds.policies.forms import (
    Manifest,
    Param,
    Scope,
    annotation,
    apply_patch,
    label,
    mutating_policy,
)
from tidegate.kinds.policies.frameworks import MULTIKUEUE, TOPMOST, Framework
from tidegate.kinds.policies.templates.numbering import create_at

_QUEUED = f"params.metadata.name == {label(QUEUE_NAME)}"
_SENDS = (
    f"{_QUEUED} && params.?status.?conditions.orValue([])"
    f".exists(c, c.type == '{SENDS_AWAY}' && c.status == 'True')"
)
_PLACES = f"{_QUEUED} && {annotation(PLACEMENT, 'params')} == 'any'"


def default_managed_by_policy(kind: Framework) -> list[Manifest]:
    """Return the policy that has a kind's objects run elsewhere where nothing else is named.

    A LocalQueue says by a condition, which the dispatcher writes, that its ClusterQueue has a
    check of MultiKueue, or by its annotation that its jobs are placed. The kind's own controller
    gives way; a third party's name stays.
    """
    if not kind.controller:
        return []
    path = kind.managed_by
    named = f"object.?{path.replace('.', '.?')}.orValue('')"
    free = {"has-no-other-manager": f"{named} in {['', kind.controller]}"}
    scope = Scope(
        targets=[kind.target("CREATE")],
        conditions=TOPMOST | free,
        param=Param(kind="LocalQueue", name=""),
    )
    parents = path.split(".")[:-1]
    missing_parents = [create_at(".".join(parents[:depth])) for depth in range(2, len(parents) + 1)]
    place = f"'/{path.replace('.', '/')}'"

    def named_by(controller: str) -> str:
        added = f"[JSONPatch{{op: 'add', path: {place}, value: '{controller}'}}]"
        return " + ".join([*missing_parents, added])

    other = f"{_PLACES} ? {named_by(PLACED)} : []" if kind.is_placeable else "[]"
    mutation = apply_patch(f"{_SENDS} ? {named_by(MULTIKUEUE)} : {other}")
    return mutating_policy(f"manage-{kind.slug}", scope, [mutation])
