"""Mutation of jobs: ``managedBy`` of MultiKueue, in a LocalQueue that leads to worker clusters.

Source: multikueue.md 3.1, 3.2.
"""

from __future__ import annotations

from tidegate.kinds.names import QUEUE_NAME, SENDS_AWAY
from tidegate.kinds.policies.forms import Manifest, Param, Scope, label, mutating, patched
from tidegate.kinds.policies.frameworks import MULTIKUEUE, TOPMOST, Framework
from tidegate.kinds.policies.templates.numbering import made_at

_SENDS = (
    f"params.metadata.name == {label(QUEUE_NAME)} && params.?status.?conditions.orValue([])"
    f".exists(c, c.type == '{SENDS_AWAY}' && c.status == 'True')"
)


def default_managed_by(kind: Framework) -> list[Manifest]:
    """Return the policy that has MultiKueue run a kind's objects where nothing else is named.

    A LocalQueue says by a condition, which the dispatcher writes, that its ClusterQueue has a
    check of MultiKueue. The kind's own controller gives way; a third party's name stays.
    """
    if not kind.controller:
        return []
    path = kind.managed_by
    named = f"object.?{path.replace('.', '.?')}.orValue('')"
    free = {"nobody-elses": f"{named} in {['', kind.controller]}"}
    scope = Scope(
        targets=[kind.target("CREATE")],
        conditions=TOPMOST | free,
        param=Param(kind="LocalQueue", name=""),
    )
    parents = path.split(".")[:-1]
    missing_parents = [made_at(".".join(parents[:depth])) for depth in range(2, len(parents) + 1)]
    place = f"'/{path.replace('.', '/')}'"
    added = f"[JSONPatch{{op: 'add', path: {place}, value: '{MULTIKUEUE}'}}]"
    return mutating(
        f"manage-{kind.slug}",
        scope,
        [patched(f"{_SENDS} ? {' + '.join([*missing_parents, added])} : []")],
    )
