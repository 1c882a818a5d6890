"""What ``accept`` remembers to drop duplicate observations: in no event, and safe to lose.

It is empty after every start. Each field says why that is harmless. In short: every session of
ingest publishes each object's changes in order up to the newest, a round makes up for lost ones,
and the API server refuses patches that were decided on an outdated state, because each patch names
the resourceVersion that it is based on.
"""

from __future__ import annotations

import msgspec

from tidegate.contracts.observations import Observed
from tidegate.contracts.observed.handovers import TreeReleasedObserved, TreeTakenObserved


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """The newest heartbeat of one session."""

    beat: int
    at_us: int  # the state's time when it was accepted
    resources: tuple[str, ...] = ()


class OpenRound(msgspec.Struct, kw_only=True):
    """A round in progress: what was known when it began, and the objects received so far."""

    floor: int = 0  # the resource's newest known version when the round began
    listed: int = 0  # the version of the resource's newest list when the round began
    queues_unknown: bool = False  # it began before the partition knew which LocalQueues are its own
    restored: bool = False  # it listed an object in a version older than the known one
    pieces: dict[int, tuple[str, ...]] = {}
    skipped: dict[str, Observed] = {}  # by uid: listed objects that were outdated


class Dedup(msgspec.Struct, kw_only=True):
    """The memory of one scheduler's term; a snapshot leaves it out."""

    versions: dict[str, int] = {}
    """Uid to the newest version that was observed and changed nothing. Lost: a lagging session may
    bring back an older state, and publishes the newer one itself after that."""
    deleted: dict[str, dict[str, int]] = {}
    """Resource to the uids deleted, with the versions of their deletions; forgotten at the second
    round after. Lost: a lagging session may bring an object back, and publishes its deletion."""
    deleted_names: dict[str, dict[str, str]] = {}
    """Resource to "<namespace>/<name>" of deleted objects, with the uid that had it last; kept as
    long as ``deleted`` has that. Lost: as there."""
    terminating: dict[str, int] = {}
    """Uid to the version of a job that was removed while it still existed, with a
    deletionTimestamp; forgotten as ``deleted`` is. Lost: a list of that very version requests one
    resync too many."""
    suspected: dict[str, dict[str, int]] = {}
    """Resource to the uids that were observed and are presumed deleted, with the version at which;
    a later list that has them refutes it. Lost: nothing is refuted; a round makes up for it."""
    lists: dict[str, int] = {}
    """Resource to its newest completed list version. Lost: the one folded is older, so fewer
    observations of unknown objects count as outdated."""
    open_rounds: dict[str, OpenRound] = {}
    """Rounds under way, by "<session> <resource> <round>". Lost: the round counts as incomplete,
    which is recorded as a gap, and a resync follows."""
    beats: dict[str, Beat] = {}
    """The newest heartbeats by session. Lost: the next one is believed."""
    members: dict[str, int] = {}
    """Member cluster to the state's time at its newest heartbeat, or since when it is listened to.
    Lost: a cluster that is silent by then is found out as much later."""
    member_uids: dict[str, str] = {}
    """Member cluster to the uid of its Namespace kube-system that its last list began with, unless
    that is another's; empty: nothing is believed before one begins. Lost: the next list tells it
    again."""
    unwatched: dict[str, int] = {}
    """Resource of known jobs to the time since when no heartbeat has named it. Lost: the wait
    begins anew."""
    skipped_queues: dict[str, None] = {}
    """LocalQueues of jobs that were another partition's. Lost: a term that has another partition
    begins with a resync."""
    needs_resync: bool = False
    """Jobs of such LocalQueues are this partition's by now: a resync is to be requested."""
    workloads_by_name: dict[str, str] | None = None
    """"<kind> <namespace>/<name>" to a workload: an index of the state, made when first needed."""
    incomplete_lists: int = 0
    """Lists without a job of a tree just taken. Lost: as many more lists may open no tree."""
    handovers: dict[str, dict[int, TreeReleasedObserved]] = {}
    """Pieces of handovers by "<ledger id>/<seq>". Lost: they are published until one is taken."""
    confirms: dict[str, TreeTakenObserved] = {}
    """Confirmations of taken handovers, to be published. Lost: the other partition repeats its
    message, which is confirmed again."""
