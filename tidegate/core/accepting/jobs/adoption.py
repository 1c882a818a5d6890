"""Adopts jobs that ran before the first decision: they are charged as they run, even above quota.

This happens when the last of the expected resources completes its first round: by then all objects
were observed, and nothing was decided yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from tidegate.contracts.facts import WorkloadAdopted
from tidegate.contracts.observations import JobObserved
from tidegate.core.accepting.jobs.fields import fact_fields
from tidegate.core.members.cluster_status import is_flavor_present, is_listed
from tidegate.core.members.placement import is_copy_of
from tidegate.core.queueing.admissibility import admission_blocker
from tidegate.core.queueing.admission_checks import are_checks_ready
from tidegate.core.quota.forest import forest
from tidegate.core.quota.requests import pod_requests
from tidegate.core.state.state import State, Workload
from tidegate.core.topology.cluster import topology_flavor_of
from tidegate.model.clusters import AT, cluster_of
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.quota import ClusterQueueSpec, ResourceGroup
from tidegate.model.topology import HOSTNAME, TopologyAssignment, unpack

_PODS = "pods"


def has_synced(state: State) -> bool:
    """Tell whether each expected resource has completed a first round, so that decisions may begin.

    Also waits for every resource whose first round began: the heartbeat that names it as watched
    again may come after its list, and some of its jobs may run.
    """
    if state.expected is None:
        return False
    resources = dict.fromkeys((*state.expected, *state.rounds))
    rounds = (state.rounds.get(resource) for resource in resources if AT not in resource)
    return all(round_seen is not None and round_seen.completed for round_seen in rounds)


def synced_clusters(state: State) -> frozenset[str]:
    """Return the clusters whose jobs are all known, the ledger's own as ""; empty before it is."""
    if not has_synced(state):
        return frozenset()
    members = (name for name in state.policy.member_clusters if is_listed(state, name))
    return frozenset(("", *members))


def adopt_workloads(
    state: State, at_us: int, clusters: Collection[str] = ("",)
) -> Iterator[WorkloadAdopted]:
    """Yield the adoption of each workload that runs, or held quota, without a decision here.

    Covers the workloads of ``clusters``, the ledger's own as "".

    A workload without a ClusterQueue cannot be charged and is not adopted. One for which Kueue had
    only reserved quota would be started by its adoption: it waits if it may not be admitted.
    """
    forest(state)
    yield from _adopt_placed(state, at_us, clusters)
    for key in list(state.workloads):
        workload = state.workloads[key]
        runs = not workload.state.suspended
        if workload.phase != "pending" or not (runs or workload.held_quota):
            continue
        if cluster_of(key) not in clusters:
            continue
        name = state.objects.queue_of(workload.local_queue)
        defined = state.objects.cluster_queues.get(name)
        if defined is None:
            continue
        assignment = assumed_assignment(state, workload, defined.spec)
        checked = runs or are_checks_ready(state, workload, name, assignment)
        if runs or (checked and admission_blocker(state, workload) is None):
            yield WorkloadAdopted(
                **fact_fields(at_us, workload), cluster_queue=name, assignment=assignment
            )


def _adopt_placed(state: State, at_us: int, clusters: Collection[str]) -> Iterator[WorkloadAdopted]:
    """Yield the adoption of placed jobs whose copies run, once both clusters are known."""
    listed_clusters = synced_clusters(state)
    for copy in list(state.copies.values()):
        workload = state.workloads.get(state.by_uid.get(copy.origin, ""))
        if workload is None or workload.phase != "pending" or copy.finished:
            continue
        if not is_copy_of(workload, copy):
            continue
        pair = cluster_of(workload.key), copy.ref.cluster
        name = state.objects.queue_of(workload.local_queue)
        defined = state.objects.cluster_queues.get(name)
        runs = copy.may_run and not copy.state.suspended and not copy.state.deleting
        if defined is None or not runs or not listed_clusters.issuperset(pair):
            continue
        if not any(cluster in clusters for cluster in pair):
            continue
        yield WorkloadAdopted(
            **fact_fields(at_us, workload),
            cluster_queue=name,
            assignment=assumed_assignment(state, workload, defined.spec, pair[1]),
            cluster=pair[1],
        )


def adopt_handed_over(state: State, at_us: int, job: JobObserved) -> Iterator[WorkloadAdopted]:
    """Yield the adoption of a workload that runs in a tree taken over, with its former charges."""
    before = state.moves.to_adopt.get(job.uid)
    workload = state.workloads.get(job.workload)
    if before is None or workload is None or workload.uid != job.uid or job.state.suspended:
        return
    if workload.phase == "pending" and before.cluster_queue in state.objects.cluster_queues:
        yield WorkloadAdopted(
            **fact_fields(at_us, workload),
            cluster_queue=before.cluster_queue,
            assignment=before.assignment,
            admitted_us=before.admitted_us,
            executed_us=before.executed_us,
        )


def assumed_assignment(
    state: State, workload: Workload, queue: ClusterQueueSpec, cluster: str = ""
) -> tuple[PodSetAssignment, ...]:
    """Return the flavors that a running workload is assumed to use, whether or not it fits.

    For a placed job, only flavors of the cluster in which its copy runs count.

    That is the first flavor of each resource group, unless a podset's node selector has all node
    labels of another. A resource that the queue does not cover is not charged.
    """
    return tuple(
        _assumed_podset(state, workload, podset, queue, cluster) for podset in workload.podsets
    )


def _assumed_podset(
    state: State, workload: Workload, podset: PodSet, queue: ClusterQueueSpec, cluster: str
) -> PodSetAssignment:
    namespace = workload.key.rpartition("/")[0]
    count = max(0, podset.count - workload.reclaimable.get(podset.name, 0))
    requests = pod_requests(state.objects, namespace, podset, state.policy) | {_PODS: 1}
    flavors: dict[str, str] = {}
    for group in queue.groups:
        flavor = _assumed_flavor(state, workload, group, podset, cluster)
        if flavor:
            flavors |= {name: flavor for name in group.resources if name in requests}
    usage = {name: requests[name] * count for name in flavors}
    assignment = PodSetAssignment(name=podset.name, count=count, flavors=flavors, usage=usage)
    place = workload.held_places.get(podset.name)
    return (
        replace(assignment, topology=place)
        if _is_valid_domain(state, assignment, podset, place)
        else assignment
    )


def _is_valid_domain(
    state: State, assignment: PodSetAssignment, podset: PodSet, place: TopologyAssignment | None
) -> bool:
    """Tell whether an assignment by another controller fits the flavor's topology and the pods."""
    defined = state.objects.flavors.get(topology_flavor_of(state, assignment))
    topology = None if defined is None else state.objects.topologies.get(defined.spec.topology)
    if place is None or topology is None:
        return False
    levels = topology.levels[-1:] if topology.levels[-1:] == (HOSTNAME,) else topology.levels
    pods = sum(domain.count for domain in unpack(place))
    return place.levels == levels and assignment.count <= pods <= podset.count


def _assumed_flavor(
    state: State, workload: Workload, group: ResourceGroup, podset: PodSet, cluster: str
) -> str:
    flavors = state.objects.flavors
    names = [
        each.flavor
        for each in group.flavors
        if (named := flavors.get(each.flavor)) is None
        or is_flavor_present(state, workload, named.spec, cluster)
    ]
    for name in names:
        defined = state.objects.flavors.get(name)
        labels = {} if defined is None else defined.spec.node_labels
        if labels and labels.items() <= podset.node_selector.items():
            return name
    return names[0] if names else ""
