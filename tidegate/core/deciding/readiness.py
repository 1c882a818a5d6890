"""Whether a ClusterQueue admits workloads, and if not, why; said when it changes.

Source: behaviour.md 8.9; conformance/queue-readiness.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tidegate.contracts.decisions import ClusterQueueReadinessChanged, DecisionEvent
from tidegate.core.draft import Draft


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """What Kueue's condition Active of a ClusterQueue says."""

    active: bool
    reason: str  # of the first thing that is wrong; Ready if nothing is
    message: str = ""


def readiness(draft: Draft, cluster_queue: str) -> Readiness:
    """Return whether a ClusterQueue may admit; circles among its cohorts are not looked at."""
    if cluster_queue not in draft.objects.cluster_queues:
        return Readiness(active=False, reason="NotFound", message="There is no such ClusterQueue.")
    wrong = list(_wrong(draft, cluster_queue))
    if not wrong:
        return Readiness(active=True, reason="Ready", message="It can admit new workloads.")
    return Readiness(active=False, reason=wrong[0][0], message=" ".join(said for _, said in wrong))


def tell_readiness(draft: Draft) -> Iterator[list[DecisionEvent]]:
    """Say of each ClusterQueue whether it admits, if that differs from what was said last."""
    if draft.forest.told:
        return
    for name, room in list(draft.forest.rooms.items()):
        found = readiness(draft, name)
        if found.active and room.tree.cyclic:
            said = "Its cohorts are their own ancestors."
            found = Readiness(active=False, reason="CohortCycle", message=said)
        if draft.readiness.get(name) != (found.active, found.reason):
            changed = ClusterQueueReadinessChanged(
                at_us=draft.now_us,
                cluster_queue=name,
                active=found.active,
                reason=found.reason,
                message=found.message,
            )
            yield [changed]
    draft.forest.told = True  # not before: a turn may be full in between


def _wrong(draft: Draft, cluster_queue: str) -> Iterator[tuple[str, str]]:
    defined = draft.objects.cluster_queues[cluster_queue]
    spec, objects = defined.spec, draft.objects
    if defined.deleting:
        yield "Terminating", "It is being deleted."
    if spec.stop_policy != "None":
        yield "Stopped", f"Its stopPolicy is {spec.stop_policy}."
    flavors = [flavor.flavor for group in spec.groups for flavor in group.flavors]
    if missing := [name for name in flavors if name not in objects.flavors]:
        yield "FlavorNotFound", f"There is no ResourceFlavor {', '.join(missing)}."
    names = [check.name for check in spec.checks]
    if missing := [name for name in names if name not in objects.checks]:
        yield "AdmissionCheckNotFound", f"There is no AdmissionCheck {', '.join(missing)}."
    known = [objects.checks[name] for name in names if name in objects.checks]
    if inactive := [check.name for check in known if not check.active]:
        yield "AdmissionCheckInactive", f"AdmissionCheck {', '.join(inactive)} is not active."
