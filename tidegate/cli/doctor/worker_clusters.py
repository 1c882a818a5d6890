"""Findings about other clusters: one for each, and one for the source that lists them."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.cli.commands.clusters.members import member_clusters, member_sentences
from tidegate.cli.commands.clusters.workers import Standing, Worker, worker_clusters
from tidegate.cli.doctor.findings import Finding, ok_finding, wrong_finding
from tidegate.core.multikueue.nomination import is_external
from tidegate.core.queueing.admission_checks import multikueue_check
from tidegate.core.state.state import State, Workload

NOMINATION_US = 60_000_000
"""How long an external dispatcher may take before the doctor reports it."""
_HELD = {"None": "", "Hold": ", held", "HoldAndDrain": ", drained"}


def examine_workers(state: State) -> Iterator[Finding]:
    """Yield a finding for each worker and member cluster; none if there is none."""
    for worker in worker_clusters(state):
        yield _worker_finding(worker)
    for member in member_clusters(state):
        yield _member_finding(member)
    if is_external(state):
        yield _external_dispatcher(state)


def _external_dispatcher(state: State) -> Finding:
    """Return the finding about an external dispatcher: any name but Kueue's two means one."""
    since_us = state.now_us - NOMINATION_US
    waiting = [
        key
        for key, workload in sorted(state.workloads.items())
        if workload.phase == "reserved"
        and workload.reserved_us <= since_us
        and _is_dispatched_nowhere(workload)
        and multikueue_check(state, workload.cluster_queue)
    ]
    if not waiting:
        return ok_finding("ExternalDispatcher", "an external dispatcher names the worker clusters")
    text = (
        f"{len(waiting)} workloads with quota wait for an external dispatcher, first {waiting[0]}"
    )
    to_do = (
        "start it, or correct multiKueue.dispatcherName: each name but Kueue's own two means an "
        "external dispatcher"
    )
    return wrong_finding("NotNominated", text, to_do)


def _is_dispatched_nowhere(workload: Workload) -> bool:
    dispatch = workload.dispatch
    return dispatch is None or not (dispatch.nominated or dispatch.chosen or dispatch.copies)


def _worker_finding(worker: Worker) -> Finding:
    stopped, runs = _HELD[worker.stop_policy], f"{len(worker.running)} workloads run there"
    if worker.standing == "Connected":
        return ok_finding("WorkerAnswers", f"{worker.name}: {runs}{stopped}")
    if worker.standing == "Lost":
        why = f" ({worker.reason}: {worker.message})" if worker.message else ""
        text = f"{worker.name} does not answer{why}; {runs}{stopped}"
        to_do = f"`tidegate clusters why {worker.name}`, and its condition Active"
        return wrong_finding("WorkerLost", text, to_do)
    text = f"{worker.name}: no dispatcher has reported on it"
    return wrong_finding("WorkerUnknown", text, "start the dispatcher: docs/multikueue.md")


def _member_finding(member: Worker) -> Finding:
    stopped, runs = _HELD[member.stop_policy], f"{len(member.running)} workloads run there"
    if member.standing == "Heard" and member.flavors:
        return ok_finding("MemberHeard", f"{member.name}: {runs}{stopped}")
    why = next(iter(member_sentences(member)))
    if member.standing == "Heard":
        why = "no ResourceFlavor names it in tidegate.dev/clusters, so nothing is admitted there"
    to_do = f"`tidegate clusters why {member.name}`: docs/member-clusters.md"
    return wrong_finding(_CODES[member.standing], f"{member.name}: {why}; {runs}{stopped}", to_do)


_CODES: dict[Standing, str] = {
    "Heard": "MemberWithoutFlavor",
    "Silent": "MemberSilent",
    "Replaced": "MemberReplaced",
    "Unknown": "MemberUnknown",
    "NotListed": "MemberNotListed",
}
