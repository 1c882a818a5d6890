"""The interface of a job kind: its state, and the patches that start and stop it.

All functions are pure. ``start`` and ``stop`` look at the object as it is now and say the next
step; the actuator takes it and asks again with what the API server returned, until it is done. So
a crash between two steps, or a change by another client, needs no case of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.jobs.gates import ManagedBy
from tidegate.kinds.meta import ObjectMeta
from tidegate.model.ids import ObjectRef
from tidegate.model.texts import parse_whole

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON; unknown fields are kept."""
Seen = TypeVar("Seen")
Refusal = Literal[
    "stale", "gone", "conflict", "invalid", "forbidden", "unreachable", "BodyMissing", "NameTaken"
]


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """A merge patch; the writer adds uid and resourceVersion."""

    body: Object
    subresource: Literal["", "status"] = ""


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Not yet: look at the object again after a while."""

    after_s: float


class Delete(msgspec.Struct, frozen=True):
    """Delete the object, this very one, with the grace that it asks for."""


class Done(msgspec.Struct, frozen=True):
    """The object is as ordered, or carries a newer decision."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """This order can never be carried out on the object as it is."""

    reason: Refusal
    message: str


Step: TypeAlias = Patch | Wait | Delete | Done | Refused


class LedgerOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The place of an order: which ledger, and its seq there."""

    ledger_id: str
    seq: int

    @property
    def decision(self) -> str:
        """Return what is written on the job, and how the report of a failure names it."""
        return f"{self.ledger_id}/{self.seq}"


class Start(LedgerOrder, frozen=True, kw_only=True):
    """A start to carry out."""

    order: StartOrdered

    def podset_start(self, podset: str) -> PodSetStart | Refused:
        """Return what a podset was given, by its name."""
        starts = {start.name: start for start in self.order.podsets}
        missing = Refused(reason="invalid", message=f"The start has no podset {podset}.")
        return starts.get(podset, missing)

    def only_podset_start(self, podset: str) -> PodSetStart | Refused:
        """Return what the one podset of a job was given."""
        if len(self.order.podsets) > 1:
            message = f"The start names {len(self.order.podsets)} podsets; the job has one."
            return Refused(reason="invalid", message=message)
        return self.podset_start(podset)

    def is_stale(self, job: Object) -> bool:
        """Return whether a job changed after this decision, by the versions in the order."""
        return self.order.generation not in (0, job["metadata"].get("generation", 0))


class Stop(LedgerOrder, frozen=True, kw_only=True):
    """A stop to carry out."""

    order: StopOrdered
    keeps: bool = False  # a group's pods stay, as ended, until others come in their places


class Parent(msgspec.Struct, frozen=True, kw_only=True):
    """The object that pods are a job of, perhaps beside other jobs."""

    name: Callable[[ObjectRef], str]
    uid: Callable[[ObjectRef], str]
    index: Callable[[ObjectRef], int | None]  # which of its jobs; None: it has only one
    view: Callable[[ObjectRef, Object], Object]
    """Return the object as it looks to one of its jobs: with that job's marks."""


class Members(msgspec.Struct, frozen=True, kw_only=True):
    """The start and stop of a job that is several pods, or an object with its pods.

    ``start`` and ``stop`` are handed the pods, and before them the object that they are a job of.
    """

    selectors: Callable[[ObjectRef], tuple[str, ...]]
    """Return label selectors; the first that any pod of the job meets is met by all of them."""
    is_member: Callable[[ObjectRef, Object], bool]  # whether a matching pod is the job's
    start: Callable[[Start, Sequence[Object]], list[tuple[Object, Step]]]
    stop: Callable[[Stop, Sequence[Object]], list[tuple[Object, Step]]]
    parent: Parent | None = None  # None: the pods are the job


class JobKind(msgspec.Struct, Generic[Seen], frozen=True, kw_only=True):
    """One row of ``tidegate.jobs.registry``."""

    name: str  # Kueue's framework name, e.g. "batch/job"
    group: str  # API group, empty for core
    version: str
    kind: str
    plural: str
    object_type: type[Seen]  # what an object is decoded into for ``observe``
    observe: Callable[[Seen], JobObserved]
    """Reduce a managed object; ``session`` and ``round`` stay empty, ingest fills them in.

    Raises UndecodableError or QuantityError if the object cannot be read, NotSupportedError if it
    asks for what is not built.
    """
    start: Callable[[Start, Object], Step]
    stop: Callable[[Stop, Object, float], Step]
    """The float is for how long (seconds) this stop has been waiting for the kind's controller."""
    may_manage: Callable[[ObjectMeta], bool] = lambda _: True
    """Return whether an object with a queue name may be managed at all."""
    members: Members | None = None  # of a job that is several objects
    finalizer: str = ""  # that Kueue puts on its objects; it is taken off when a job is over
    owns_jobs: bool = True  # its controller makes objects that may be jobs of another kind
    is_skipped: Callable[[Seen], bool] = lambda _: False
    """Return whether an object runs on what another one was admitted for."""
    referred_paths: Callable[[Object], tuple[str, ...]] = lambda _: ()
    """Return the paths of the objects that say what an object's pods are like.

    Callers of the other functions put them into the object, as a list under ``beside``.
    """
    referred_plurals: tuple[str, ...] = ()  # the plurals of those objects, of the kind's own group
    waits_for_referred: bool = True  # a job waits until they are there
    size_version: Callable[[Object], int] = lambda _: 0
    """Return the version of the companion object that holds the pod counts; 0: none."""
    managed_by: ManagedBy | None = None  # None: the kind has no managedBy field
    elastic: bool = False  # it knows jobs that grow and shrink while they run
    optional: bool = True  # a CRD that a cluster may lack; False: built into Kubernetes
    status_of: Callable[[ObjectMeta, Object], JobState]
    """Return the state of an object, even if the rest of it is malformed; raises nothing.

    An unreadable state counts as running: only a job known to have stopped releases quota.
    """
    terminal_phase: Callable[[Object], str] = lambda _: ""
    """Return Succeeded or Failed; empty: it has not ended, or is malformed. Raises nothing."""
    podsets: Callable[[Object], list[Object]]
    """Return the podsets of its Workload object, templates as their owner wrote them."""

    @property
    def is_group(self) -> bool:
        """Return whether a job of the kind has no object of its own."""
        return self.members is not None and self.members.parent is None

    @property
    def resource(self) -> str:
        """Return how rounds and subjects call it: ``jobs.batch``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """Return apiVersion as objects write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of the collection, or of one object."""
        root = f"/apis/{self.group}" if self.group else "/api"
        within = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}/{self.version}{within}/{self.plural}" + (f"/{name}" if name else "")


def decision_seq(annotation: str, ledger_id: str) -> int:
    """Return the seq of a decision annotation; 0 if it is another ledger's, or none."""
    owner, _, seq = annotation.rpartition("/")
    return (parse_whole(seq) or 0) if owner and owner == ledger_id else 0
