"""Decisions about worker clusters: nomination, choice and withdrawal.

Each is also an order, with all that the dispatcher needs.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from tidegate.contracts.decision_kinds.queues import WorkloadDecision
from tidegate.model.ids import ObjectRef

CheckDecision = Literal["Ready", "Retry", "Rejected"]
CheckCause = Literal["", "Admitted", "Evicted", "OutOfSync"]


class DispatchDecision(WorkloadDecision, frozen=True, kw_only=True):
    """A decision about a workload that worker clusters are asked to run."""


class ClustersNominated(DispatchDecision, frozen=True, kw_only=True, tag="ClustersNominated/1"):
    """Worker clusters get a copy of a workload; the first cluster that admits the copy runs it."""

    job: ObjectRef
    clusters: tuple[str, ...]  # all of them, those of earlier rounds too
    again: bool = False  # a repetition: nothing has changed
    external: bool = False  # as an external dispatcher wrote them into the Workload's status


class ClusterChosen(DispatchDecision, frozen=True, kw_only=True, tag="ClusterChosen/1"):
    """A worker cluster was chosen to run a workload: its job is created there."""

    job: ObjectRef
    cluster: str
    again: bool = False  # a repetition: nothing has changed
    replaces: str = ""  # elastic jobs: the slice whose cluster this one took over
    makes_copy: bool = False  # its copy is created there, too: the cluster was not nominated before


class RemoteWithdrawn(DispatchDecision, frozen=True, kw_only=True, tag="RemoteWithdrawn/1"):
    """A workload's job and copy are deleted on these worker clusters."""

    job: ObjectRef
    clusters: tuple[str, ...]
    reason: str = ""  # e.g. OtherClusterChosen, NoReservation, Finished, OutOfSync
    again: bool = False  # a repetition: nothing has changed


class RemoteDeactivated(DispatchDecision, frozen=True, kw_only=True, tag="RemoteDeactivated/1"):
    """A worker cluster has to stop an evicted workload, before its copy is deleted."""

    job: ObjectRef
    cluster: str
    message: str = ""  # of the eviction here
    again: bool = False  # a repetition: nothing has changed


class CheckDecided(DispatchDecision, frozen=True, kw_only=True, tag="CheckDecided/1"):
    """The scheduler sets an admission check of its own controller."""

    check: str
    state: CheckDecision
    message: str = ""
    cause: CheckCause = ""  # what a worker did, for Kueue's Kubernetes Event; empty: nothing


ClusterDecision: TypeAlias = (
    ClustersNominated | ClusterChosen | RemoteWithdrawn | RemoteDeactivated | CheckDecided
)
