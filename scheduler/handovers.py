"""Publish trees that move to other partitions: each message is repeated until it is confirmed.

No message is published before its event is in the ledger, and a lost message is sent again: both
sides recognise what they have received before by ledger id and seq of the release.
"""

from __future__ import annotations

import asyncio

from scheduler.leader_state import LeaderState
from tidegate.contracts.codec import encode
from tidegate.contracts.messages.subjects import observed
from tidegate.contracts.observed.handovers import HandoverObserved, TreeReleasedObserved
from tidegate.core.accepting.handovers import untaken
from tidegate.errors import BusRefusedError, BusUnreachableError
from tidegate.service.logs import get_log

HANDOVERS = "handovers"
AGAIN_S = 5.0
"""The interval at which a released tree is published again until its new partition takes it."""
_log = get_log("handovers")


async def tell_others(leader: LeaderState) -> None:
    """Publish trees that were released and are not known to be taken, and trees that were taken."""
    state = leader.state
    now_s = asyncio.get_running_loop().time()
    if state.dedup.confirms:
        confirms, state.dedup.confirms = list(state.dedup.confirms.values()), {}
        for confirm in confirms:
            await _tell(leader, confirm, now_s)
    if state.moves.released and now_s - leader.handed_s >= AGAIN_S:
        leader.handed_s = now_s
        for message in untaken(state):
            await _tell(leader, message, now_s)


async def _tell(leader: LeaderState, message: HandoverObserved, now_s: float) -> None:
    """Store a message; if the bus fails it is sent again in a while, or requested."""
    deps = leader.deps
    subject = observed(deps.cluster, HANDOVERS, "", f"{deps.partition}")
    piece = message.piece if isinstance(message, TreeReleasedObserved) else 0
    name = f"{type(message).__name__}/{message.ledger_id}/{message.seq}/{piece}"
    try:
        if deps.tell is not None:
            await deps.tell(subject, encode(message), f"{name}/{deps.holder.name}/{now_s}")
    except (BusRefusedError, BusUnreachableError) as error:
        _log.warning("cannot tell another partition", what=name, why=str(error))
