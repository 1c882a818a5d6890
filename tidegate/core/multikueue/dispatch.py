"""What follows for a workload from where its copies are: one step at a time, the first that fits.

Source: multikueue.md 2.1, 2.3, 2.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidegate.contracts.decision_kinds.clusters import (
    CheckDecided,
    CheckDecision,
    ClusterChosen,
    ClustersNominated,
    RemoteWithdrawn,
)
from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.multikueue.check import check_of, clusters_of, is_connected
from tidegate.core.multikueue.nomination import nominees
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload
from tidegate.model.multikueue import ADAPTERS, CONTROLLER, OUT_OF_SYNC

_NO_CLUSTER = (
    "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please "
    "report it"
)


def dispatch(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the next step for a workload; nothing if its clusters stand as they should."""
    if workload.dispatch is None and state.policy.multikueue is None:
        return []
    check = check_of(state, workload.cluster_queue)
    if not check or workload.phase not in ("reserved", "admitted"):
        return _refuse(state, workload, check) or _take_back(state, workload)
    if _said(workload, check) in ("Retry", "Rejected"):
        return []  # it leaves, and its clusters with it
    for step in _STEPS:
        if results := step(state, workload, check):
            return results
    return []


def is_withdrawn(state: State, workload: Workload) -> bool:
    """Tell whether no cluster that answers has anything of a workload that leaves."""
    remote = workload.dispatch
    return remote is None or not any(is_connected(state, cluster) for cluster in remote.leaving)


def _refuse(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Reject who could never be sent anywhere, also one that waits for quota."""
    waits = workload.phase in ("pending", "reserved", "admitted")
    if not check or not waits or not workload.active or _said(workload, check) == "Rejected":
        return []
    wrong = _unfit(state, workload)
    return [_decided(state, workload, check, "Rejected", wrong)] if wrong else []


def _unfit(state: State, workload: Workload) -> str:
    policy, kind = state.policy.multikueue, workload.job.kind
    adapter = ADAPTERS.get(kind)
    if policy is None:
        return ""
    if adapter is None or kind not in policy.kinds:
        owner = adapter.owner if adapter is not None else _OTHERS.get(kind, "")
        named = f' for owner kind "{owner}"' if owner else ""
        return f"No multikueue adapter found{named}"
    if adapter.managed_by and CONTROLLER not in workload.gates:
        field, other = adapter.managed_by, ""
        message = f'Expecting {field} to be "{CONTROLLER}" not "{other}"'
        return f"The owner is not managed by Kueue: {message}"
    return ""


_OTHERS = {
    "pod-group": "/v1, Kind=Pod",
    "sparkoperator.k8s.io/sparkapplication": (
        "sparkoperator.k8s.io/v1beta2, Kind=SparkApplication"
    ),
    "statefulset": "apps/v1, Kind=StatefulSet",
    "leaderworkerset.x-k8s.io/leaderworkerset": (
        "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet"
    ),
}


def _take_back(state: State, workload: Workload) -> list[DecisionEvent]:
    """Have nothing on any cluster of a workload that has no quota here."""
    remote = workload.dispatch
    if remote is None:
        return []
    everywhere = dict.fromkeys((*remote.nominated, *filter(None, [remote.chosen]), *remote.copies))
    reason = {"finished": "Finished", "evicting": "Evicted"}.get(workload.phase, "NoReservation")
    return _withdrawn(state, workload, remote, everywhere, reason) or _again(state, workload, "")


def _remind(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    return _again(state, workload, check)


def _again(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Tell a dispatcher that began what one before it was told."""
    remote = workload.dispatch
    if remote is None or not remote.again:
        return []
    fields: dict[str, Any] = {**_known(state, workload), "job": workload.job, "again": True}
    results: list[DecisionEvent] = []
    if remote.leaving:
        results.append(RemoteWithdrawn(**fields, clusters=tuple(remote.leaving), reason="Again"))
    if remote.nominated:
        results.append(ClustersNominated(**fields, clusters=remote.nominated))
    if remote.chosen and check:
        results.append(ClusterChosen(**fields, cluster=remote.chosen))
    return results


def _ended(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Send a workload elsewhere whose worker says that its job asks for something else."""
    remote = workload.dispatch
    if remote is None or not remote.chosen:
        return []
    results = [
        (copy.finished_us, cluster)
        for cluster, copy in remote.copies.items()
        if copy.finished_us and copy.reason == OUT_OF_SYNC
    ]
    if not results:
        return []
    message = (
        f'Remote workload on worker cluster "{min(results)[1]}" is out of sync with its user job, '
        "resetting for re-dispatch"
    )
    return [_decided(state, workload, check, "Retry", message)]


def _evicted(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    remote = workload.dispatch
    if remote is None or not remote.chosen:
        return []
    copy = remote.copies.get(remote.chosen)
    if copy is None or not copy.evicted_us:
        return []
    message = (
        f'Workload evicted on worker cluster: "{remote.chosen}", resetting for re-admission. '
        'Previously: "Ready"'
    )
    return [_decided(state, workload, check, "Retry", message, whole=True)]


def _differing(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Take copies back whose spec is not the workload's: who edits one loses it."""
    remote = workload.dispatch
    if remote is None:
        return []
    differing = [
        cluster for cluster, copy in remote.copies.items() if copy.differs and not copy.finished_us
    ]
    del check
    return _withdrawn(state, workload, remote, differing, OUT_OF_SYNC)


def _lost(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Give up a cluster that admitted a workload and has it no more, or does not answer."""
    remote = workload.dispatch
    if remote is None or _winner(state, remote, check):
        return []
    if not remote.chosen and _said(workload, check) != "Ready":
        return []
    if not clusters_of(state, check):
        return []  # without its configuration nobody knows what to do instead
    if not remote.chosen and not remote.leaving:
        return [_decided(state, workload, check, "Retry", _NO_CLUSTER)]
    remote_cluster = state.remote_clusters.get(remote.chosen)
    if remote.chosen in clusters_of(state, check) and (
        remote_cluster is None or not remote_cluster.connected
    ):
        policy = state.policy.multikueue
        patience_us = 0 if policy is None else policy.worker_lost_us
        if remote_cluster is not None and state.now_us < remote_cluster.lost_us + patience_us:
            return []
        return [_decided(state, workload, check, "Retry", "Admitting remote lost")]
    return [_decided(state, workload, check, "Retry", "Admitting remote no longer exists")]


def _winner(state: State, remote: Dispatch, check: str) -> str:
    """Return the cluster that has admitted a workload: the one chosen, else the earliest."""
    usable = [cluster for cluster in clusters_of(state, check) if is_connected(state, cluster)]
    results = [
        (cluster != remote.chosen, copy.admitted_us, cluster)
        for cluster, copy in remote.copies.items()
        if copy.admitted_us and cluster in usable and cluster not in remote.leaving
    ]
    return min(results)[2] if results else ""


def _choose(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Let the cluster run a workload that admitted it first; take back the other copies before."""
    remote = workload.dispatch
    cluster = "" if remote is None else _winner(state, remote, check)
    if remote is None or not cluster:
        return []
    others = [
        fromkey
        for fromkey in dict.fromkeys((*remote.nominated, *remote.copies))
        if fromkey != cluster
    ]
    if results := _withdrawn(state, workload, remote, others, "OtherClusterChosen"):
        return results
    copy = remote.copies[cluster]
    if not remote.chosen and not copy.foreign:
        return [ClusterChosen(**_known(state, workload), job=workload.job, cluster=cluster)]
    if remote.chosen and copy.job and _said(workload, check) == "Pending":
        message = f'The workload was admitted on "{cluster}"'
        return [_decided(state, workload, check, "Ready", message, whole=True)]
    return []


def _nominate(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Ask more clusters, once nothing else is waited for; take back who may not be asked."""
    if workload.phase != "reserved" or _said(workload, check) != "Pending":
        return []
    names = required_checks(state, workload.cluster_queue, workload.assignment)
    if any(_said(workload, name) != "Ready" for name in names if name != check):
        return []
    remote, allowed = workload.dispatch or Dispatch(), clusters_of(state, check)
    if not allowed or _winner(state, remote, check):
        return []  # nobody knows who may be asked, or whose job is in the way
    unasked = [cluster for cluster in (*remote.nominated, *remote.copies) if cluster not in allowed]
    if results := _withdrawn(state, workload, remote, unasked, "NotNominated"):
        return results
    clusters = nominees(state, remote, allowed)
    if not clusters or clusters == remote.nominated:
        return []
    return [ClustersNominated(**_known(state, workload), job=workload.job, clusters=clusters)]


def _withdrawn(
    state: State, workload: Workload, remote: Dispatch, clusters: Iterable[str], reason: str
) -> list[DecisionEvent]:
    withdrawn = tuple(
        cluster for cluster in dict.fromkeys(clusters) if cluster not in remote.leaving
    )
    if not withdrawn:
        return []
    fields = _known(state, workload)
    return [RemoteWithdrawn(**fields, job=workload.job, clusters=withdrawn, reason=reason)]


def _decided(  # noqa: PLR0913 - a check's state with all it takes
    state: State,
    workload: Workload,
    check: str,
    literal: CheckDecision,
    message: str,
    *,
    whole: bool = False,
) -> CheckDecided:
    before = _said(workload, check)
    text = message if whole else f'{message}, Previously: "{before}"'
    return CheckDecided(**_known(state, workload), check=check, state=literal, message=text)


def _said(workload: Workload, check: str) -> str:
    state_of_check = workload.checks.get(check)
    return "Pending" if state_of_check is None else state_of_check.state


def _known(state: State, workload: Workload) -> dict[str, Any]:
    return {
        "at_us": state.now_us,
        "workload": workload.key,
        "uid": workload.uid,
        "cluster_queue": workload.cluster_queue,
    }


_STEPS: tuple[Callable[[State, Workload, str], list[DecisionEvent]], ...] = (
    _refuse,
    _remind,
    _ended,
    _evicted,
    _differing,
    _lost,
    _choose,
    _nominate,
)
"""The order of multikueue.md 2.5; a copy that ended otherwise ends the workload by itself."""
