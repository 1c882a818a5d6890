"""Decision marks on objects are claims: a mark that is not in the ledger is ignored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeAlias

from actuator.ordering.orders import Order
from tidegate.errors import ApiStatusError
from tidegate.jobs.kind import Object
from tidegate.jobs.templates.injected import mark, unmarked

Ahead: TypeAlias = Callable[[int], Awaitable[bool]]
"""Compares the ledger's newest seq with what this actuator has read."""


async def nothing_ahead(seq: int) -> bool:
    """See ``Ahead``: all that there is was read."""
    del seq
    return False


async def genuine(
    job: Object, order: Order, ahead: Ahead, superseded: Callable[[], bool]
) -> Object:
    """Return an object as it is, or without a decision that the ledger did not take for it.

    An order for the same object that is newer than this one supersedes it once it is read, which
    may have been while this object came: a slow response has what was decided meanwhile.

    Raises:
        ApiStatusError: 409: it bears a decision that this actuator will read in a moment, or has.
    """
    seq = mark(job, order.ledger_id)
    if seq <= order.seq:
        return job
    if await ahead(seq) or superseded():
        raise ApiStatusError(HTTPStatus.CONFLICT, "It bears a later decision.")
    return unmarked(job)
