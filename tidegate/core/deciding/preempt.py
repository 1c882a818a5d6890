"""Making room for a workload: who must leave, and what is kept for it from here on.

Source: behaviour.md 6.6; docs/adr/0005.
"""

from __future__ import annotations

from tidegate.contracts.decisions import (
    PreemptionIntended,
    PreemptionReason,
    Victim,
    WorkloadEvicted,
    WorkloadPreempted,
)
from tidegate.core.deciding.admit import granted
from tidegate.core.draft import Workload
from tidegate.core.nominating import Nominee
from tidegate.core.orders import stop_order
from tidegate.core.passing import Pass
from tidegate.core.preemption.trial import Target
from tidegate.core.proposing import Proposal
from tidegate.core.rooms import Room
from tidegate.core.tree import Node

_WHY: dict[PreemptionReason, str] = {
    "InClusterQueue": "it has priority in the ClusterQueue",
    "InCohortReclamation": "its ClusterQueue takes back what the cohort had borrowed",
    "InCohortFairSharing": "the cohort shares fairly",
    "InCohortReclaimWhileBorrowing": "it has priority in the cohort while both borrow",
}


def preempt(run_of: Pass, nominee: Nominee, proposal: Proposal) -> bool:
    """Record the intent, and evict each victim that is not on its way already.

    Tells whether there was anything new: Kueue's preemptor comes back while its victims leave.
    """
    draft, workload, room = run_of.draft, nominee.workload, nominee.room
    if draft.sticky.get(room.name) == workload.key and all(
        target.workload.phase == "evicting" for target in proposal.targets
    ):
        return False
    amounts: dict[str, dict[str, int]] = {}
    for fr, units in proposal.assignment.usage.items():
        amounts.setdefault(fr.flavor, {})[fr.resource] = units
    targets = [one for one in proposal.targets if one.workload.key != workload.replaces]
    victims = tuple(
        Victim(
            workload=one.workload.key,
            uid=one.workload.uid,
            cluster_queue=one.cluster_queue,
            reason=one.reason,
        )
        for one in targets
    )
    run_of.tell(
        PreemptionIntended(
            at_us=draft.now_us,
            workload=workload.key,
            uid=workload.uid,
            cluster_queue=room.name,
            victims=victims,
            amounts=amounts,
            assignment=granted(proposal.assignment),
            cycle=run_of.number,
        )
    )
    for target in targets:
        if target.workload.phase != "evicting":
            _evict(run_of, room, workload, target)
    return True


def _evict(run_of: Pass, room: Room, preemptor: Workload, target: Target) -> None:
    draft, victim = run_of.draft, target.workload
    other = draft.forest.rooms[target.cluster_queue]
    message = (
        f"Preempted for {preemptor.key} (uid {preemptor.uid}), because {_WHY[target.reason]}; "
        f"preemptor path: {path(room.node)}; preemptee path: {path(other.node)}"
    )
    run_of.tell(
        WorkloadPreempted(
            at_us=draft.now_us,
            workload=victim.key,
            uid=victim.uid,
            cluster_queue=victim.cluster_queue,
            by=preemptor.key,
            by_uid=preemptor.uid,
            by_cluster_queue=room.name,
            reason=target.reason,
            message=message,
        )
    )
    run_of.tell(
        WorkloadEvicted(
            at_us=draft.now_us,
            workload=victim.key,
            uid=victim.uid,
            cluster_queue=victim.cluster_queue,
            reason="Preempted",
            message=message,
        )
    )
    run_of.tell(stop_order(draft, victim, reason="Preempted", message=message))


def path(node: Node) -> str:
    """Return a node's way down from its root: ``/all/team/queue``."""
    names, at = [node.name], node
    while at.parent is not None:
        at = at.parent
        names.append(at.name)
    return "/" + "/".join(reversed(names))
