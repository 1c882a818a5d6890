"""Member clusters by the ledger: whether each reports, and which workloads run there."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.cli.commands.clusters.workers import Standing, Worker
from tidegate.core.members.cluster_status import (
    REPLACED,
    execution_cluster,
    is_listed,
    member_key,
    strictest_stop_policy,
)
from tidegate.core.state.state import State, Workload
from tidegate.model.quota import StopPolicy


def member_clusters(state: State) -> list[Worker]:
    """Return all member clusters by name, those that are not listed but have workloads among them.

    In ``asked`` are the workloads that wait there. A placed job runs where its copy does.
    """
    workloads = dict[str, list[Workload]]()
    for workload in state.workloads.values():
        if cluster := execution_cluster(workload):
            workloads.setdefault(cluster, []).append(workload)
    names = sorted({*state.policy.member_clusters, *workloads})
    return [_member_cluster(state, name, workloads.get(name, [])) for name in names]


def _member_cluster(state: State, name: str, workloads: list[Workload]) -> Worker:
    remote = state.remote_clusters.get(member_key(name))
    standing: Standing = "Unknown"
    if remote is not None:
        standing = "Heard" if remote.connected else "Silent"
        if remote.reason == REPLACED:
            standing = "Replaced"
    elif name not in state.policy.member_clusters:
        standing = "NotListed"
    return Worker(
        kind="member",
        name=name,
        standing=standing,
        stop_policy=strictest_stop_policy(state, name),
        reason="" if remote is None else remote.reason,
        message="" if remote is None else remote.message,
        lost_us=0 if remote is None else remote.lost_us,
        listed=is_listed(state, name),
        uid=state.member_uids.get(name, ""),
        flavors=tuple(
            key
            for key, flavor in sorted(state.objects.flavors.items())
            if name in flavor.spec.clusters
        ),
        running=_workload_keys(workloads, ("reserved", "admitted", "evicting")),
        asked=_workload_keys(workloads, ("pending",)),
    )


def _workload_keys(workloads: list[Workload], phases: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(each.key for each in workloads if each.phase in phases))


def member_sentences(member: Worker) -> Iterator[str]:
    """Yield why a member cluster's workloads are admitted or wait."""
    yield _STANDINGS[member.standing].format(message=member.message)
    if member.standing == "Heard" and not member.listed:
        yield "Its ingest has not listed all jobs yet, so nothing is admitted there."
    if member.stop_policy != "None":
        yield _STOPPED[member.stop_policy]
    if not member.flavors:
        yield "No ResourceFlavor names it in tidegate.dev/clusters, so nothing is admitted there."


_STANDINGS: dict[Standing, str] = {
    "Heard": "It is heard of.",
    "Silent": "It is silent: {message}. Its workloads keep their quota and are not touched.",
    "Replaced": "{message}: nothing of it is taken in, and what ran before keeps its quota. If it "
    "is to be the member, start the scheduler once without the name in --member-clusters.",
    "Unknown": "Nothing was heard of it yet: are its ingest and its bus up?",
    "NotListed": "It is not among --member-clusters: its workloads keep what they hold.",
}
_STOPPED: dict[StopPolicy, str] = {
    "Hold": "It is held: nothing new is admitted there, and what runs there goes on.",
    "HoldAndDrain": "It is drained: what runs there is stopped.",
}
