"""What this partition has to say to others of trees that move: told until it is heard.

Nothing is told before it is in the ledger, and a message that is lost is sent again: by the ids of
what was released both sides know what they have heard before.
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
"""How long a tree that was released may stay untaken before others are told again."""
_log = get_log("handovers")


async def tell_others(leader: LeaderState) -> None:
    """Tell what was released and is not known to be taken, and what was taken."""
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
    """Store a message; one that is not is sent again in a while, or asked for."""
    deps = leader.deps
    subject = observed(deps.cluster, HANDOVERS, "", f"{deps.partition}")
    piece = message.piece if isinstance(message, TreeReleasedObserved) else 0
    name = f"{type(message).__name__}/{message.ledger_id}/{message.seq}/{piece}"
    try:
        if deps.tell is not None:
            await deps.tell(subject, encode(message), f"{name}/{deps.holder.name}/{now_s}")
    except (BusRefusedError, BusUnreachableError) as error:
        _log.warning("cannot tell another partition", what=name, why=str(error))
