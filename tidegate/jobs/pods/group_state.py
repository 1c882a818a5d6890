"""The state of a pod group, also of one whose pods disagree, and whether it has finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.jobs.job_metadata import MESSAGE_MAX, unmanaged_job
from tidegate.jobs.kind import JobKind
from tidegate.jobs.pods import pod_state
from tidegate.jobs.pods.grouping import (
    Group,
    creation_order,
    group_name,
    group_of,
    group_uid,
    is_serving,
    sort_pods,
)
from tidegate.kinds import names
from tidegate.kinds.pods import Pod
from tidegate.model.texts import bounded, parse_whole


def group_state(group: Group) -> JobState:
    """Return how a group stands, by its pods; its decision is the oldest that any of them bears."""
    present = (*group.members, *group.leaving)
    pods = present or (*group.succeeded, *group.failed)
    decisions = [pod.metadata.annotations.get(names.DECISION, "") for pod in pods]
    gated = any(pod_state.is_gated(member) for member in group.members)
    running = [member for member in group.members if not pod_state.is_gated(member)]
    return JobState(
        suspended=gated or not group.members,
        started=bool(running),
        active=sum(pod_state.is_active(pod) for pod in present),
        ready=sum(pod_state.is_ready(pod) for pod in group.members),
        succeeded=len(group.succeeded),
        decision=min(decisions, key=_decision_seq) if decisions else "",
    )


def unreadable_group(
    kind: JobKind[Any], key: tuple[str, str], pods: Sequence[Pod], version: int, why: str
) -> JobObserved:
    """Return the observation of a group of a namespace and name whose pods disagree."""
    first, (namespace, name) = min(pods, key=creation_order), key
    return msgspec.structs.replace(
        unmanaged_job(kind, first.metadata),
        name=name,
        uid=group_uid(pods),
        version=version,
        workload=f"{namespace}/{name}",
        stray="Unreadable",
        message=bounded(why, MESSAGE_MAX),
        state=group_state(sort_pods(pods, len(pods))),
    )


def incomplete_text(pods: Sequence[Pod]) -> str:
    """Return what a group lacks that was never queued; empty if nothing; errors as ``group_of``."""
    group = group_of(pods)
    if group.is_complete or group.is_started:
        return ""
    count = len(group.members) + len(group.succeeded)
    return (
        f"Its group {group_name(pods[0].metadata)} has {count} of {group.total} pods: create the "
        f"others, or correct {names.POD_GROUP_TOTAL_COUNT}."
    )


def is_group_finished(group: Group) -> bool:
    """Return whether a group is done, or nothing of it can run any more.

    A gated pod may be started yet. Pods that ended behind their gates ran in a worker cluster,
    where others of them may run.
    """
    if is_serving(group):
        return False
    elsewhere = any(pod_state.is_gated(pod) for pod in (*group.succeeded, *group.failed))
    waiting = (*group.members, *(group.leaving if elsewhere else ()))
    active = any(map(pod_state.is_gated, waiting)) or any(
        map(pod_state.is_active, (*group.members, *group.leaving))
    )
    pods = (*group.members, *group.succeeded, *group.failed)
    final = any(pod.metadata.annotations.get(names.RETRIABLE_IN_GROUP) == "false" for pod in pods)
    done = len(group.succeeded) >= group.total
    return done or (final and not active and bool(group.failed or group.succeeded))


def _decision_seq(decision: str) -> int:
    _, _, seq = decision.rpartition("/")
    return parse_whole(seq) or 0
