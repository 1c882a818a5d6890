"""After the last fault something moves at every moment, until nothing is left to be done.

Pods that run take their time, and so does a workload with a time to wait for; nothing else has any.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from apiserver.state import State
from tests.simulation.actors.people import finished
from tests.simulation.bus import NAMES
from tests.simulation.cluster import QUEUE_LABEL
from tests.simulation.judging.differences import LATE_S, WORKLOADS
from tests.simulation.judging.verdict import demand
from tests.simulation.judging.wire import is_complete

if TYPE_CHECKING:
    from tests.simulation.world import World

REST_S_MAX = 600.0
"""What ten Jobs of forty seconds may take one after the other, with each of them stopped once."""


class Rest:
    """Looks once a second, from the last fault on."""

    def __init__(
        self, state: State, running: Callable[[], object], now_us: Callable[[], int]
    ) -> None:
        self._state, self._running, self._now_us = state, running, now_us
        self._began_s = self._moved_s = 0.0
        self.longest_s = 0.0

    def begin(self, now_s: float) -> None:
        """Begin to look: nothing fails any more."""
        self._began_s = self._moved_s = now_s

    def tick(self, now_s: float, why: str, *, waits: bool) -> None:
        """Object if nothing moves for too long; ``waits``: a workload waits for its time."""
        if waits or self._running() or any(map(self._waits, self._state.items(WORKLOADS))):
            self._moved_s = now_s
        self.longest_s = max(self.longest_s, now_s - self._moved_s)
        demand(now_s - self._moved_s <= LATE_S, "rest", f"nothing moves: {why}")
        demand(now_s - self._began_s <= REST_S_MAX, "rest", why)

    def _waits(self, obj: dict[str, dict[str, dict[str, str]]]) -> bool:
        """Tell whether a Workload says of itself until when it waits, and that is not over."""
        at = obj.get("status", {}).get("requeueState", {}).get("requeueAt", "")
        return bool(at) and datetime.fromisoformat(at).timestamp() * 1_000_000 > self._now_us()


def unrest(world: World) -> str:
    """Tell what is still going on in a world; empty: nothing."""
    for job in world.cluster.jobs():
        managed = QUEUE_LABEL in job["metadata"].get("labels", {})
        if managed and not finished(job):
            return f"{job['metadata']['name']} is not finished"
    if not world.makers.done:
        return "some Workload has no Job yet"
    if not world.removers.done:
        return "what was deleted is not there again"
    if world.watch().holding:
        return f"{next(iter(world.watch().holding))} holds quota"
    if not world.seen or world.seen[-1].seq < world.ledger.entries[-1].seq:
        return "not everything is published"
    return unpublished(world) or _under_way(world)


def unpublished(world: World) -> str:
    """Tell what EVENTS lacks of the ledger, whether read before or not; empty: nothing."""
    watch, stream = world.watch(), world.bus.server.streams.get(NAMES.events)
    seqs = (entry.seq for entry in world.ledger.entries if entry.seq >= watch.opened)
    whole = stream is not None and is_complete(stream, watch.ledger_id, seqs)
    return "" if whole else "EVENTS lacks entries"


def _under_way(world: World) -> str:
    """Tell what the leader has still to do though every Job is done; empty: nothing."""
    leading = [status.leader for status in world.statuses.values() if status.leader is not None]
    newest = max(leading, key=lambda leader: leader.epoch, default=None)
    if newest is None or newest.state.seq != newest.head.seq:
        return "a turn is under way"
    kept = (key for key in newest.state.deadlines.at if key.startswith("retention/"))
    return next(kept, "")
