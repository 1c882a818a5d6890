"""Placed jobs: the clusters in which a copy may run, and the copies of a job.

A placed job runs only as a copy, with all its podsets, in another member cluster than its own. The
rules are docs/adr/0029.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.core.members.cluster_status import is_cluster_replaced, is_listed, is_open
from tidegate.core.state.remotes import Copy
from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import cluster_of
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import FlavorSpec

OF_COPY = "Its copy differs. "
"""Prefix of a mismatch between a placed job and its copy; only the copy can settle it."""
ACCEPTS = "tidegate.dev/accepts-placed"
"""Label of a member's Namespace, as in ``tidegate.kinds.names``, which the core cannot import."""


def candidate_clusters(state: State, workload: Workload) -> tuple[str, ...]:
    """Return the clusters in which a placed job may run, in the order of its queue's flavors."""
    return tuple(
        name
        for name in _queue_clusters(state, workload)
        if not cluster_refusal(state, workload, name)
    )


def cluster_refusals(state: State, workload: Workload) -> Iterator[str]:
    """Yield why each cluster of a placed job's queue takes no copy of it."""
    for name in _queue_clusters(state, workload):
        if text := cluster_refusal(state, workload, name):
            yield f"cluster {name} {text}"


def cluster_refusal(state: State, workload: Workload, cluster: str) -> str:
    """Return why a cluster takes no copy of a placed job, whatever quota there is; empty: it may.

    No cluster takes one until each member was listed once in this ledger: any of them may run a
    copy that an older ledger ordered.
    """
    namespace = workload.key.partition("/")[0]
    if cluster == cluster_of(workload.key):
        return "is the job's own"
    if cluster not in state.policy.member_clusters:
        return "is no member cluster"
    if not is_open(state, cluster):
        return "is replaced by another" if is_cluster_replaced(state, cluster) else "is silent"
    if (unknown := unlisted_member(state)) and workload.phase == "pending":
        return f"may not begin before cluster {unknown} was listed"
    if cluster in workload.refused:
        return "has another object of the job's name"
    defined = state.objects.member_namespaces.get(cluster, {}).get(namespace)
    if defined is None:
        return f"has no namespace {namespace}"
    if defined.labels.get(ACCEPTS) != "true":
        return f"takes no placed jobs in namespace {namespace}: label {ACCEPTS} is not true"
    return ""


def unlisted_member(state: State) -> str:
    """Return a member cluster that was never listed in this ledger; empty: each was."""
    return next((name for name in state.policy.member_clusters if not is_listed(state, name)), "")


def placement_refusal(state: State, workload: Workload, spec: FlavorSpec) -> str:
    """Return why no cluster of a flavor takes a placed job; empty: one does."""
    if not spec.clusters:
        return "it exists in no member cluster"
    if spec.topology:
        return f"its topology is that of cluster {state.cluster}"
    for name in spec.clusters:
        if (
            not cluster_refusal(state, workload, name)
            and spec.stop_policies.get(name, "None") == "None"
        ):
            return ""
    name = spec.clusters[0]
    return f"cluster {name} {cluster_refusal(state, workload, name) or 'is stopped'}"


def is_flavor_open(spec: FlavorSpec | None, cluster: str) -> bool:
    """Tell whether a flavor takes new workloads in a member cluster."""
    if spec is None or spec.topology or cluster not in spec.clusters:
        return False
    return spec.stop_policies.get(cluster, "None") == "None"


def cluster_for_assignment(
    state: State, workload: Workload, assignment: Iterable[PodSetAssignment]
) -> str:
    """Return the first cluster of a placed job that has all assigned flavors; empty: none."""
    flavors = [name for podset in assignment for name in podset.flavors.values()]
    defined = [state.objects.flavors.get(name) for name in flavors]
    specs = [None if flavor is None else flavor.spec for flavor in defined]
    for cluster in candidate_clusters(state, workload):
        if all(is_flavor_open(spec, cluster) for spec in specs):
            return cluster
    return ""


def copies_of(state: State, workload: Workload) -> list[Copy]:
    """Return the known copies of a placed job, wherever they are."""
    return [state.copies[uid] for uid in workload.copies]


def is_copy_of(workload: Workload, copy: Copy) -> bool:
    """Tell whether a copy has the name of a placed job, as each ordered copy has.

    Any other copy belongs to no job, whatever origin its mark names: it is deleted, and its state
    does not count.
    """
    job, ref = workload.job, copy.ref
    has_name = (job.kind, job.namespace, job.name) == (ref.kind, ref.namespace, ref.name)
    return has_name and bool(workload.body)


def is_current_copy(workload: Workload, copy: Copy) -> bool:
    """Tell whether a copy has its job's name and is in the cluster where the job has quota."""
    if not workload.cluster or copy.ref.cluster != workload.cluster:
        return False
    return is_copy_of(workload, copy)


def startable_copy(state: State, workload: Workload) -> Copy | None:
    """Return a placed job's copy that may be started where it has quota; None: there is none.

    No copy may be started while another could run elsewhere: a known one, or one that an older
    ledger ordered in a cluster that was not listed since.
    """
    copies = copies_of(state, workload)
    others = (copy for copy in copies if copy.ref.cluster != workload.cluster)
    if unlisted_member(state) or any(copy.may_run for copy in others):
        return None
    own = (copy for copy in copies if is_current_copy(workload, copy))
    return next((copy for copy in own if not copy.state.deleting and not copy.removals), None)


def is_name_in_use(state: State, workload: Workload) -> bool:
    """Tell whether another job's copy, to be deleted, has this job's name where it has quota."""
    copies = (copy for copy in state.copies.values() if copy.origin != workload.uid)
    return any(is_current_copy(workload, copy) for copy in copies)


def has_current_copy(state: State, workload: Workload) -> bool:
    """Tell whether a placed job has a copy where it has quota, which is not observed as deleted."""
    return any(is_current_copy(workload, copy) for copy in copies_of(state, workload))


def _queue_clusters(state: State, workload: Workload) -> tuple[str, ...]:
    queue = state.objects.cluster_queues.get(workload.cluster_queue)
    flavors = state.objects.flavors
    names = dict[str, None]()
    for group in () if queue is None else queue.spec.groups:
        for quotas in group.flavors:
            if (defined := flavors.get(quotas.flavor)) is not None:
                names |= dict.fromkeys(defined.spec.clusters)
    return tuple(names)
