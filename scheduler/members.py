"""OBSERVATIONS of the member clusters, read beside the ledger's own, each from its own position.

One pull of each stream is under way at a time, and the first that returns messages ends the wait: a
member whose stream is empty, or cannot be read, delays no other. Messages that are refused, lost or
purged affect the stream they are of alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler.dependencies import Dependencies
from scheduler.poison import Batch
from tidegate.bus.ports import ObservationReader
from tidegate.contracts.entry import Message, Position
from tidegate.errors import BusRefusedError, BusUnreachableError
from tidegate.service.logs import get_log

OWN = ""
"""The ledger's own cluster, among the clusters whose observations are read."""
_log = get_log("members")


@dataclass(slots=True)
class MemberStream:
    """One member cluster's stream in one term."""

    inbox: ObservationReader
    committed: Position  # in the ledger
    accepted: Position  # in the state
    forgotten: Position = field(default_factory=Position)  # the last up to which the bus dropped
    unforgotten: int = 0  # accepted observations since then
    unforgotten_bytes: int = 0


@dataclass(slots=True)
class MemberStreams:
    """All member clusters' streams in one term, and their pending pulls."""

    by_name: dict[str, MemberStream] = field(default_factory=dict)
    pulling: dict[str, asyncio.Task[Sequence[Message]]] = field(default_factory=dict)

    @property
    def read_count(self) -> int:
        """Return how many observations were ever accepted, by the positions."""
        return sum(member.accepted.seq for member in self.by_name.values())

    def uncommitted_positions(self) -> dict[str, Position]:
        """Return the positions that are ahead of the ledger, by cluster."""
        return {
            name: member.accepted
            for name, member in self.by_name.items()
            if member.accepted != member.committed
        }

    def mark_committed(self) -> None:
        """Note that the ledger has all positions."""
        for member in self.by_name.values():
            member.committed = member.accepted

    async def cancel_pulls(self) -> None:
        """Pull no more."""
        pulls, self.pulling = list(self.pulling.values()), {}
        for pull in pulls:
            pull.cancel()
        await asyncio.gather(*pulls, return_exceptions=True)


def members_of(
    inboxes: Mapping[str, ObservationReader], committed: Mapping[str, Position]
) -> MemberStreams:
    """Return the streams of a term that begins, each at its committed position."""
    at = {name: committed.get(name, Position()) for name in inboxes}
    return MemberStreams(
        {name: MemberStream(inbox, at[name], at[name]) for name, inbox in inboxes.items()}
    )


async def begin_members(members: MemberStreams, deps: Dependencies) -> None:
    """Begin with each cluster that nothing was read of, as ``first_turn`` does with its own.

    Raises:
        BusUnreachableError: the bus does not answer.
    """
    for member in members.by_name.values():
        if member.accepted == Position():
            member.accepted = await member.inbox.start_position()
            await member.inbox.request_resync("nothing has been read yet")
            deps.status.resyncs.inc()


async def pull_all(
    members: MemberStreams, deps: Dependencies, own: Position, wait_s: float
) -> list[Batch]:
    """Return what follows the positions, by cluster, the own first; wait for the first of them.

    While an observation that made a turn fail is looked for, one stream is read at a time.

    Raises:
        BusUnreachableError: the bus does not answer.
    """
    if not members.by_name:  # no other stream to wait for: no task for each turn
        return [Batch(OWN, await _pull_own(deps, own, wait_s))]
    for name, pull in _missing_pulls(members, deps, own):
        members.pulling[name] = asyncio.ensure_future(pull)
    await asyncio.wait(
        members.pulling.values(), timeout=wait_s, return_when=asyncio.FIRST_COMPLETED
    )
    ready = [name for name in sorted(members.pulling) if members.pulling[name].done()]
    if _is_searching(members, deps, own):
        ready = ready[:1]
    return [Batch(name, members.pulling.pop(name).result()) for name in ready]


def _is_searching(members: MemberStreams, deps: Dependencies, own: Position) -> bool:
    of_members = ((name, member.accepted) for name, member in members.by_name.items())
    return any(deps.poison.may_follow(*at) for at in ((OWN, own), *of_members))


def _missing_pulls(
    members: MemberStreams, deps: Dependencies, own: Position
) -> Iterator[tuple[str, Coroutine[Any, Any, Sequence[Message]]]]:
    """Yield a pull of each stream without a pending one."""
    if OWN not in members.pulling:
        yield OWN, _pull_own(deps, own, deps.pace.wait_s)
    for name, member in members.by_name.items():
        if name not in members.pulling:
            yield name, _pull_member(deps, name, member)


async def _pull_own(deps: Dependencies, own: Position, wait_s: float) -> Sequence[Message]:
    count_max = deps.poison.batch_limit(OWN, own, deps.pace.messages_max)
    return await deps.observation_reader.pull(own, count_max=count_max, wait_s=wait_s)


async def _pull_member(deps: Dependencies, name: str, member: MemberStream) -> Sequence[Message]:
    """Pull of a member cluster; if its stream cannot be read, the others are read all the same."""
    accepted, pace = member.accepted, deps.pace
    count_max = deps.poison.batch_limit(name, accepted, pace.messages_max)
    try:
        return await member.inbox.pull(accepted, count_max=count_max, wait_s=pace.wait_s)
    except (BusRefusedError, BusUnreachableError) as error:
        _log.warning("cannot read observations", cluster=name, why=str(error))
        await asyncio.sleep(pace.wait_s)
        return ()
