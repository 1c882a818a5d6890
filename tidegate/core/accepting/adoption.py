"""What ran before anything was decided is charged as it runs, even above quota.

It happens at one moment: when the last of the expected resources completed its first round. By
then everything that exists was told, and nothing was decided yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.facts import WorkloadAdopted
from tidegate.core.admissibility import barrier
from tidegate.core.checking import required_checks
from tidegate.core.draft import Draft, Workload
from tidegate.core.forest import forest
from tidegate.core.requests import pod_requests
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.quota import ClusterQueueSpec, ResourceGroup

_PODS = "pods"


def is_complete(draft: Draft) -> bool:
    """Tell whether each expected resource completed a first round, so that one may decide."""
    if draft.expected is None:
        return False
    rounds = (draft.rounds.get(resource) for resource in draft.expected)
    return all(known is not None and known.completed for known in rounds)


def adopt(draft: Draft, at_us: int) -> Iterator[WorkloadAdopted]:
    """Yield the adoption of each workload that runs, or held quota, without a decision of ours.

    One whose queue leads nowhere cannot be charged and is not adopted. One that Kueue had only
    reserved quota for would be started by its adoption: it waits if it may not be admitted.
    """
    forest(draft)
    for key in list(draft.workloads):
        workload = draft.workloads[key]
        runs = not workload.state.suspended
        if workload.phase != "pending" or not (runs or workload.held_quota):
            continue
        queue = draft.objects.local_queues.get(workload.local_queue)
        name = "" if queue is None else queue.spec.cluster_queue
        defined = draft.objects.cluster_queues.get(name)
        if defined is None:
            continue
        assignment = assign(draft, workload, defined.spec)
        if runs or _may_start(draft, workload, name, assignment):
            yield WorkloadAdopted(
                at_us=at_us,
                workload=key,
                uid=workload.uid,
                cluster_queue=name,
                assignment=assignment,
            )


def _may_start(
    draft: Draft, workload: Workload, queue: str, assignment: tuple[PodSetAssignment, ...]
) -> bool:
    asked = required_checks(draft, queue, assignment)
    told = (workload.checks.get(name) for name in asked)
    ready = all(one is not None and one.state == "Ready" for one in told)
    return ready and barrier(draft, workload) is None


def assign(
    draft: Draft, workload: Workload, queue: ClusterQueueSpec
) -> tuple[PodSetAssignment, ...]:
    """Return the flavors that a running workload is taken to use: it is not asked what fits.

    Of a resource group the first flavor counts, unless a podset's node selector bears all node
    labels of another. A resource that the queue does not cover is not charged.
    """
    return tuple(_assign(draft, workload, podset, queue) for podset in workload.podsets)


def _assign(
    draft: Draft, workload: Workload, podset: PodSet, queue: ClusterQueueSpec
) -> PodSetAssignment:
    namespace = workload.key.rpartition("/")[0]
    count = max(0, podset.count - workload.reclaimable.get(podset.name, 0))
    asked = pod_requests(draft.objects, namespace, podset, draft.policy) | {_PODS: 1}
    flavors: dict[str, str] = {}
    for group in queue.groups:
        flavor = _flavor(draft, group, podset)
        if flavor:
            flavors |= {name: flavor for name in group.resources if name in asked}
    usage = {name: asked[name] * count for name in flavors}
    return PodSetAssignment(name=podset.name, count=count, flavors=flavors, usage=usage)


def _flavor(draft: Draft, group: ResourceGroup, podset: PodSet) -> str:
    names = [each.flavor for each in group.flavors]
    for name in names:
        defined = draft.objects.flavors.get(name)
        labels = {} if defined is None else defined.spec.node_labels
        if labels and labels.items() <= podset.node_selector.items():
            return name
    return names[0] if names else ""
