"""One workload as its Workload object should show it."""

from __future__ import annotations

from sys import intern
from typing import Literal

import msgspec

from tidegate.contracts.decisions import VariantDeleted, WorkloadExpired
from tidegate.contracts.facts import WorkloadRemoved
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.meta import Condition
from tidegate.kinds.times import rfc3339
from tidegate.model.ids import DECIDED_ELSEWHERE, NOT_WATCHED, ObjectRef
from tidegate.model.podset import PodSetAssignment

Phase = Literal["pending", "parent", "reserved", "admitted", "inactive", "finished"]
MESSAGE_MAX = 32_768
"""Of a condition: Kueue's own bound."""
_NO_PODS: dict[str, int] = {}
NO_REQUESTS: dict[str, dict[str, int]] = {}
NO_CHECKS: dict[str, Object] = {}
"""These three are what many views have in common: no field with one is changed in place."""


class WorkloadView(msgspec.Struct, kw_only=True):
    """What is known of a workload; changed in place by ``actuator.projection.read_model``."""

    key: str  # "<namespace>/<name>", also of the Workload object
    uid: str  # of the job, or of the Workload if it was made directly
    job: ObjectRef
    object_uid: str = ""  # of the Workload object, once it was seen
    decision: str = ""  # the newest entry of the ledger about it, "<ledger id>/<seq>"
    prebuilt: str = ""  # the Workload that the job's owner made for it; empty: one is made
    elastic: bool = False
    replaces: str = ""  # elastic jobs: the Workload slice that this one replaces
    first: str = ""  # elastic jobs: the name of the first of its job's Workloads; empty: this one
    asked: int = 0  # checksum of the podsets that the job asked for last; 0: never changed
    stale: bool = False  # the job asks for other podsets than its Workload has
    renews: bool = False  # and it holds no quota for these any more, so that they may be written
    counts: dict[str, int] = {}  # elastic jobs: podset to the pods that are asked for now
    generation: int = 0  # elastic jobs: of the job, by the last observation
    generation_us: int = 0  # when it was observed; 0: long ago
    has_variants: bool = False  # it is tried by them
    parent: str = ""  # a variant: the key of the Workload that it is tried for
    flavor: str = ""  # a variant: which it is tried on
    ungated_us: int = 0  # a variant: since when it may preempt; 0: it may not
    queue: str = ""
    priority_class: str = ""  # a WorkloadPriorityClass
    pod_priority_class: str = ""  # a PriorityClass, if there is no WorkloadPriorityClass
    own_priority: int | None = None
    max_execution_s: int = 0
    active: bool = True  # as its owner wishes
    deactivated: bool = False  # spec.active=false is ours to write
    deactivated_by: str = ""  # the decision for which it is, "<ledger id>/<seq>"
    orphaned: bool = False  # its job is deleted so that the Workload stays behind
    stays: bool = False  # its job is no longer watched, but may exist
    phase: Phase = "pending"
    cluster_queue: str = ""  # with its quota
    assignment: tuple[PodSetAssignment, ...] = ()
    failed_nodes: tuple[str, ...] = ()  # on which it has pods that need another place
    conditions: dict[str, Condition] = {}  # by type
    requests: dict[str, dict[str, int]] = {}  # while it waits: podset to resource to base units
    requeue_count: int = 0
    requeue_after_us: int = 0
    reclaimable: dict[str, int] = {}
    evictions: dict[tuple[str, str], int] = {}  # by reason and cause
    checks: tuple[str, ...] = ()  # admission checks asked for when quota was last reserved
    checks_since: str = ""  # the decision since which their states count
    checks_at_us: int = 0  # of that decision
    decided: dict[str, Object] = {}  # states of checks that were decided here, by name
    undone: dict[str, Object] = {}  # the same, before the newest eviction or release
    nominated: tuple[str, ...] | None = None
    """Worker clusters that are asked; None: nominatedClusterNames is not ours to write."""
    cluster_name: str = ""  # the worker cluster that runs it
    admitted_us: int = 0  # 0: not now
    executed_us: int = 0  # admitted before

    @property
    def namespace(self) -> str:
        """Return the namespace of job and Workload."""
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        """Return the Workload object's name."""
        return self.key.partition("/")[2]

    @property
    def local_queue(self) -> str:
        """Return ``<namespace>/<name>`` of its LocalQueue."""
        return f"{self.namespace}/{self.queue}"

    @property
    def priority_classes(self) -> tuple[str, str]:
        """Return the names of its WorkloadPriorityClass and PriorityClass; empty: none."""
        return self.priority_class, self.pod_priority_class

    @property
    def direct(self) -> bool:
        """Return whether the Workload object was created directly, without a job."""
        return self.job.kind == "workload"

    @property
    def made(self) -> bool:
        """Return whether the Workload object is made of the job, and goes with it."""
        return not self.direct and not self.prebuilt

    def true_condition(self, kind: str) -> Condition | None:
        """Return a condition if it holds."""
        condition = self.conditions.get(kind)
        return condition if condition is not None and condition.status == "True" else None

    def intern_fields(self) -> None:
        """Let equal names and what is empty be one object in memory, for thousands of views."""
        self.queue, self.priority_class = intern(self.queue), intern(self.priority_class)
        self.counts, self.reclaimable = self.counts or _NO_PODS, self.reclaimable or _NO_PODS
        self.requests = self.requests or NO_REQUESTS
        self.decided, self.undone = self.decided or NO_CHECKS, self.undone or NO_CHECKS

    def set(self, kind: str, *, true: bool, reason: str, message: str, at_us: int) -> None:
        """Set a condition; its transition time moves only with its status."""
        status: Literal["True", "False"] = "True" if true else "False"
        before = self.conditions.get(kind)
        unchanged = before is not None and before.status == status
        self.conditions[kind] = Condition(
            type=kind,
            status=status,
            last_transition_time=before.last_transition_time
            if unchanged and before
            else rfc3339(at_us),
            reason=intern(reason),
            message=intern(message[:MESSAGE_MAX]),  # of many, in a long queue
        )

    def end(self, kind: str, *, reason: str, at_us: int) -> None:
        """Set a true condition to False and keep its message."""
        condition = self.true_condition(kind)
        if condition is not None:
            message = f"Previously: {condition.message}"
            self.set(kind, true=False, reason=reason, message=message, at_us=at_us)


def object_is_deleted(
    view: WorkloadView, event: WorkloadRemoved | VariantDeleted | WorkloadExpired
) -> bool:
    """Return whether the Workload object goes with the workload.

    It stays if its job is no longer watched: an Event on it has the cause.
    """
    if isinstance(event, WorkloadRemoved) and event.reason == NOT_WATCHED:
        return False
    return view.made or (bool(view.prebuilt) and isinstance(event, WorkloadExpired))


def needs_cleanup(
    view: WorkloadView, event: WorkloadRemoved | VariantDeleted | WorkloadExpired
) -> bool:
    """Return whether anything is to be done in the cluster as a workload goes.

    Nothing is where another partition decides about it by now, and shows it.
    """
    if isinstance(event, WorkloadRemoved) and event.reason == DECIDED_ELSEWHERE:
        return False
    return view.made or object_is_deleted(view, event)


def keeps_pods(view: WorkloadView | None, job: ObjectRef) -> bool:
    """Return whether a job is a finished pod group, whose kept pods can be released."""
    kind = JOB_KINDS.get(job.kind)
    shows = view is not None and view.uid == job.uid and view.phase != "finished"
    return shows and kind is not None and kind.is_group
