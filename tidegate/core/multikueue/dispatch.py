"""Dispatches a workload to worker clusters: the first step that applies to its copies, one a time.

Source: multikueue.md 2.1, 2.3, 2.5.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.contracts.decision_kinds.clusters import (
    CheckCause,
    CheckDecided,
    CheckDecision,
    ClusterChosen,
    ClustersNominated,
)
from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.multikueue.nomination import (
    allowed_clusters,
    clusters_for_group,
    clusters_of,
    is_connected,
    is_drained,
    is_external,
    may_get_copies,
    nominated_clusters,
)
from tidegate.core.multikueue.slices import (
    inherit_cluster,
    is_joining,
    is_predecessor_evicted,
    may_dispatch,
    replaced_slices,
)
from tidegate.core.multikueue.withdrawal import (
    repeat_decisions,
    withdraw_everywhere,
    withdraw_from,
    worker_lost_us,
)
from tidegate.core.queueing.admission_checks import check_state, multikueue_check, required_checks
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload, decision_fields
from tidegate.model.multikueue import CONTROLLER, OUT_OF_SYNC, adapter_of

_NO_CLUSTER = (
    "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please "
    "report it"
)


def dispatch(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the next step for a workload; empty if none is needed.

    Also when its round is over, or a lost cluster is to be given up: a deadline of ``fold.FAMILY``.
    """
    check = multikueue_check(state, workload.cluster_queue)
    if not check or workload.phase not in ("reserved", "admitted"):
        return (
            _reject_check(state, workload, check)
            or withdraw_everywhere(state, workload)
            or _withdraw_replaced_slices(state, workload, "")
        )
    if check_state(workload, check) in ("Retry", "Rejected"):
        return []  # it is about to be evicted, which withdraws its copies
    for step in _STEPS:
        if decisions := step(state, workload, check):
            return decisions
    return []


def _withdraw_replaced_slices(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Withdraw replaced slices from all clusters, except from the one where the job runs now."""
    del check
    slices = [each for each in replaced_slices(state, workload) if each.phase == "finished"]
    return next((results for each in slices if (results := withdraw_everywhere(state, each))), [])


def _reject_check(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Reject the check of a workload that no cluster can run, even while it waits for quota."""
    live = workload.phase in ("pending", "reserved", "admitted")
    if not check or not live or not workload.active or check_state(workload, check) == "Rejected":
        return []
    reason = _unsupported_reason(state, workload)
    return [_decide_check(state, workload, check, "Rejected", reason)] if reason else []


def _unsupported_reason(state: State, workload: Workload) -> str:
    policy, kind = state.policy.multikueue, workload.job.kind
    if policy is None:
        return ""
    adapter = adapter_of(kind, policy.kinds)
    if adapter is None or kind not in policy.kinds:
        owner = adapter.owner if adapter is not None else _OTHERS.get(kind, "")
        owner_text = f' for owner kind "{owner}"' if owner else ""
        return f"No multikueue adapter found{owner_text}"
    if not may_dispatch(workload, adapter):
        return f"Elastic jobs are not sent to worker clusters: remove its annotation {_ELASTIC}"
    if adapter.managed_by and CONTROLLER not in workload.gates:
        field, other = adapter.managed_by, ""
        mismatch = f'Expecting {field} to be "{CONTROLLER}" not "{other}"'
        return f"The owner is not managed by Kueue: {mismatch}"
    return ""


_ELASTIC = "kueue.x-k8s.io/elastic-job"
_OTHERS = {
    "sparkoperator.k8s.io/sparkapplication": (
        "sparkoperator.k8s.io/v1beta2, Kind=SparkApplication"
    ),
}


def _retry_out_of_sync(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Retry a workload whose worker cluster reports that its copy differs from its job."""
    dispatched = workload.dispatch
    if dispatched is None or not dispatched.chosen:
        return []
    copy = dispatched.copies.get(dispatched.chosen)
    if copy is None or not copy.finished_us or copy.reason != OUT_OF_SYNC:
        return []
    message = (
        f'Remote workload on worker cluster "{dispatched.chosen}" is out of sync with its user '
        "job, resetting for re-dispatch"
    )
    return [_decide_check(state, workload, check, "Retry", message, cause="OutOfSync")]


def _retry_evicted(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    dispatched = workload.dispatch
    if dispatched is None or not dispatched.chosen:
        return []
    copy, previous = dispatched.copies.get(dispatched.chosen), check_state(workload, check)
    joining = is_joining(workload, previous)
    before = joining and is_predecessor_evicted(state, workload, dispatched.chosen)
    if not before and (copy is None or not copy.evicted_us):
        return []
    message = (
        f'Workload evicted on worker cluster: "{dispatched.chosen}", resetting for re-admission. '
        f'Previously: "{previous}"'
    )
    return [_decide_check(state, workload, check, "Retry", message, cause="Evicted")]


def _retry_drained(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Retry a workload whose cluster is drained, once that cluster is connected."""
    dispatched = workload.dispatch
    if dispatched is None or not dispatched.chosen or not is_drained(state, dispatched.chosen):
        return []
    if not is_connected(state, dispatched.chosen):
        return []  # the job could not be stopped there
    message = f'Worker cluster "{dispatched.chosen}" is drained'
    return [_decide_check(state, workload, check, "Retry", message)]


def _withdraw_differing(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Withdraw copies whose spec differs from the workload's: editing a copy removes it."""
    dispatched = workload.dispatch
    if dispatched is None:
        return []
    differing = [
        cluster
        for cluster, copy in dispatched.copies.items()
        if copy.differs and not copy.finished_us
    ]
    del check
    return withdraw_from(state, workload, dispatched, differing, OUT_OF_SYNC)


def _retry_lost(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Give up a cluster that had admitted a workload and lost it, or is lost itself."""
    dispatched = workload.dispatch
    if dispatched is None or _admitting_cluster(state, workload, dispatched, check):
        return []
    before = check_state(workload, check)
    if not dispatched.chosen and before != "Ready":
        return []
    if not clusters_of(state, check):
        return []  # without the check's configuration no other cluster is known
    if not dispatched.chosen and not dispatched.leaving:
        return [_decide_check(state, workload, check, "Retry", _NO_CLUSTER)]
    cluster = state.remote_clusters.get(dispatched.chosen)
    listed = dispatched.chosen in clusters_of(state, check)
    if listed and is_connected(state, dispatched.chosen) and is_joining(workload, before):
        return []  # the slice waits there for its admission
    if listed and (cluster is None or not cluster.connected):
        if cluster is not None and state.now_us < cluster.lost_us + worker_lost_us(state):
            return []
        return [_decide_check(state, workload, check, "Retry", "Admitting remote lost")]
    return [_decide_check(state, workload, check, "Retry", "Admitting remote no longer exists")]


def _admitting_cluster(state: State, workload: Workload, dispatched: Dispatch, check: str) -> str:
    """Return the cluster that has admitted a workload: the chosen one, else the earliest."""
    usable = [cluster for cluster in clusters_of(state, check) if is_connected(state, cluster)]
    group_clusters = None if dispatched.chosen else clusters_for_group(state, workload)
    usable = [cluster for cluster in usable if group_clusters is None or cluster in group_clusters]
    admitting = [
        (cluster != dispatched.chosen, copy.admitted_us, cluster)
        for cluster, copy in dispatched.copies.items()
        if copy.admitted_us
        and cluster in usable
        and cluster not in dispatched.leaving
        and (cluster == dispatched.chosen or may_get_copies(state, cluster))
    ]
    return min(admitting)[2] if admitting else ""


def _choose_cluster(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Choose the cluster that admitted a workload first, after withdrawing the other copies."""
    dispatched = workload.dispatch
    cluster = "" if dispatched is None else _admitting_cluster(state, workload, dispatched, check)
    if dispatched is None or not cluster:
        return []
    others = [
        name
        for name in dict.fromkeys((*dispatched.nominated, *dispatched.copies))
        if name != cluster
    ]
    if withdrawals := withdraw_from(state, workload, dispatched, others, "OtherClusterChosen"):
        return withdrawals
    copy = dispatched.copies[cluster]
    if not dispatched.chosen and not copy.foreign:
        return [
            ClusterChosen(**decision_fields(state, workload), job=workload.job, cluster=cluster)
        ]
    if dispatched.chosen and copy.job and check_state(workload, check) == "Pending":
        message = f'The workload was admitted on "{cluster}"'
        return [_decide_check(state, workload, check, "Ready", message, cause="Admitted")]
    return []


def _nominate_clusters(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Nominate more clusters once all other checks are Ready; withdraw copies from others."""
    if workload.phase != "reserved" or check_state(workload, check) != "Pending":
        return []
    names = required_checks(state, workload.cluster_queue, workload.assignment)
    if any(check_state(workload, name) != "Ready" for name in names if name != check):
        return []
    if decisions := inherit_cluster(state, workload):
        return decisions
    dispatched, configured = workload.dispatch or Dispatch(), clusters_of(state, check)
    if (
        not configured
        or dispatched.chosen
        or _admitting_cluster(state, workload, dispatched, check)
    ):
        return []  # no configuration, or a cluster has the job or has admitted it
    allowed = allowed_clusters(state, dispatched, configured, clusters_for_group(state, workload))
    unasked = [
        cluster for cluster in (*dispatched.nominated, *dispatched.copies) if cluster not in allowed
    ]
    if withdrawals := withdraw_from(state, workload, dispatched, unasked, "NotNominated"):
        return withdrawals
    clusters = nominated_clusters(state, dispatched, allowed)
    if not clusters or clusters == dispatched.nominated:
        return []
    return [
        ClustersNominated(
            **decision_fields(state, workload),
            job=workload.job,
            clusters=clusters,
            external=is_external(state),
        )
    ]


def _decide_check(  # noqa: PLR0913 - the fields of a check's state
    state: State,
    workload: Workload,
    check: str,
    decided: CheckDecision,
    message: str,
    *,
    cause: CheckCause = "",
) -> CheckDecided:
    """Return a check's state; ``message`` gets the state before, except for two causes."""
    before = check_state(workload, check)
    text = message if cause in ("Admitted", "Evicted") else f'{message}, Previously: "{before}"'
    fields = decision_fields(state, workload)
    return CheckDecided(**fields, check=check, state=decided, message=text, cause=cause)


_STEPS: tuple[Callable[[State, Workload, str], list[DecisionEvent]], ...] = (
    _reject_check,
    repeat_decisions,
    _withdraw_replaced_slices,
    _retry_out_of_sync,
    _retry_evicted,
    _retry_drained,
    _withdraw_differing,
    _retry_lost,
    _choose_cluster,
    _nominate_clusters,
)
"""The order of multikueue.md 2.5; an ended copy that is in sync ends its workload by a fact."""
