"""Facts about the copies of placed jobs; the rules are docs/adr/0029."""

from __future__ import annotations

from typing import TypeAlias

from tidegate.contracts.fact_kinds.definitions import Fact
from tidegate.contracts.observed.jobs import JobState
from tidegate.model.ids import ObjectRef


class CopyFact(Fact, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about the copy of a placed job, or about the job at home."""

    workload: str = ""  # "<namespace>/<name>@<home>" of the job at home; empty: not known
    uid: str  # of the job at home, as ``CopySeen.origin`` has it


class CopyReported(CopyFact, frozen=True, kw_only=True, omit_defaults=True, tag="CopyReported/1"):
    """A copy exists, or its state changed: the state of the one with quota is its workload's.

    The actuator of the job's own cluster writes ``status`` into the job there. A copy in another
    cluster than that of ``QuotaReserved.cluster`` does not change the job's status.
    """

    copy: ObjectRef  # with its own uid, "<uid>@<cluster>", and its cluster
    resource: str = ""  # of the watch that reads it, "jobs.batch@<cluster>"
    queue: str = ""  # LocalQueue of the job at home, as the copy says
    version: int = 0
    state: JobState
    ready: bool = False  # all its pods are ready
    finished: str = ""  # Succeeded, Failed or a special reason; empty: not finished
    message: str = ""  # of the finish
    status: str = ""  # see ``CopySeen.status``


class CopyRemoved(CopyFact, frozen=True, kw_only=True, omit_defaults=True, tag="CopyRemoved/1"):
    """A copy was deleted, by a list or a watch of its cluster: none of its pods runs."""

    copy: ObjectRef
    version: int = 0


class EndShown(CopyFact, frozen=True, kw_only=True, omit_defaults=True, tag="EndShown/1"):
    """The job at home shows its copy's end in its status: the copy may be deleted."""

    version: int = 0  # resourceVersion of the job at home


class HomeGone(CopyFact, frozen=True, kw_only=True, omit_defaults=True, tag="HomeGone/1"):
    """The job at home was deleted, and its copy may run: ``WorkloadRemoved`` follows the copy."""

    version: int = 0  # of the removal


CopyEvent: TypeAlias = CopyReported | CopyRemoved | EndShown | HomeGone
