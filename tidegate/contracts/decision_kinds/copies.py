"""Decisions about the copies of placed jobs: each is an order to one member cluster's actuator.

The rules are docs/adr/0029. What happens to one placed job, in order:

1. ``QuotaReserved`` with ``cluster``, ``WorkloadAdmitted``.
2. ``CopyOrdered``: that cluster's actuator creates the copy, suspended. Its ingest observes it.
3. ``StartOrdered`` whose ``job`` is the copy: like the start of any other job, with uid,
   resourceVersion and cluster pinned. Only this makes the copy run, and it is decided while there
   is quota. So a late creation, by an actuator that was thought dead, creates no running job.
4. ``CopyReported`` with each state; ``WorkloadFinished`` at its end.
5. ``EndShown``, then ``CopyRemovalOrdered``, then ``CopyRemoved``. If it is evicted before its end:
   ``WorkloadEvicted``, ``CopyRemovalOrdered``, ``CopyRemoved``, ``QuotaReleased``. If the job at
   home is deleted: ``HomeGone``, the same, and at last ``WorkloadRemoved``.

Nothing is ordered for the job at home: it stays suspended, and no controller there runs it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from tidegate.contracts.decision_kinds.queues import WorkloadDecision
from tidegate.model.ids import ObjectRef

BODY_MISSING = "BodyMissing"
"""Reason of ``ActuationReported``: the stream has no body of this digest. The order is repeated as
usual, and after ``BODY_TRIES`` orders the quota is released."""
NAME_TAKEN = "NameTaken"
"""Reason of ``ActuationReported``: an object of that name exists with another origin, or none. It
is left alone, and this workload cannot use the cluster until its job changes."""
BODY_TRIES = 6

RemovalCause = Literal["Evicted", "Finished", "Elsewhere", "NoWorkload"]
"""Why a copy is deleted: its workload was evicted; the job at home shows its end; its quota is in
another cluster, or it has none; the job at home does not exist."""


class CopyDecision(WorkloadDecision, frozen=True, kw_only=True):
    """A decision about the copy of a placed job."""


class CopyOrdered(CopyDecision, frozen=True, kw_only=True, tag="CopyOrdered/1"):
    """A member cluster's actuator has to create the suspended copy of a job.

    ``workload`` and ``uid`` are those of the job at home ("<uid>@<home>", or the uid alone if it
    is in the ledger's own cluster): the copy's annotation tidegate.dev/origin is exactly this
    ``uid``. If an object of that name has this origin already, the order is done.
    """

    job: ObjectRef  # the job at home
    copy: ObjectRef  # what to create: kind, namespace, name and cluster; no uid
    body: str  # SHA-256 of the body, in hexadecimal, see ``JobObserved.body``


class CopyRemovalOrdered(CopyDecision, frozen=True, kw_only=True, tag="CopyRemovalOrdered/1"):
    """A member cluster's actuator has to delete a copy, its pods first.

    In the foreground, so that the copy is gone only once none of its pods runs; its uid is pinned.
    ``uid`` is the copy's origin, ``workload`` is empty if the job at home is not known.
    """

    copy: ObjectRef  # with its uid, "<uid>@<cluster>"
    reason: RemovalCause
    attempt: int = 1  # from 2 on: a repetition


CopyOrder: TypeAlias = CopyOrdered | CopyRemovalOrdered
