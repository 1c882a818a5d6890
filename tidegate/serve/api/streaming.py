"""Events as they are written, to users with the rights: server-sent, from any seq on.

Rights are asked for again while a stream lasts, so one that is taken away ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from http import HTTPStatus
from itertools import islice

import msgspec
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from store.reading.entries import PAGE_ROWS
from tidegate.errors import TidegateError
from tidegate.serve.api.answering import event_at, event_filter, events_since
from tidegate.serve.api.endpoint import Endpoint
from tidegate.serve.api.handling import (
    AuthorizedQuery,
    Handler,
    Services,
    answer,
    authorize,
    sight_of,
)
from tidegate.serve.auth.limits import ConcurrencyLimiter
from tidegate.serve.auth.redaction import redact
from tidegate.serve.auth.reviews import REMEMBERED_S
from tidegate.serve.ledger.partitions.positions import Ends, parse_position, position_text
from tidegate.serve.refusals import RefusalError, refusal_of
from tidegate.subscribe import SubscriptionFilter

STREAM = "text/event-stream"
POLL_S, ALIVE_S = 0.25, 15.0
STREAMS_MAX, STREAMS_OF_ONE_MAX = 200, 8
PAGE_CHARS = 1_000_000
"""So much of a stream waits for its reader, and one event more: an event may have 256 KiB."""


def events_handler(parts: Services, endpoint: Endpoint, streams: ConcurrencyLimiter) -> Handler:
    """Return what handles requests for events: a page of them, or a stream."""

    async def handle(request: Request) -> Response:
        checked = await authorize(parts, endpoint, request)
        if STREAM in request.headers.get("accept", ""):
            return stream_events(parts, streams, checked, request)
        return await answer(parts, checked, request)

    return handle


def stream_events(
    parts: Services, streams: ConcurrencyLimiter, checked: AuthorizedQuery, request: Request
) -> StreamingResponse:
    """Return a response that goes on as events are written.

    Raises:
        UnknownNameError: there is no such type of event.
    """
    if checked.values["asOf"]:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "asOf looks back, and a stream does not.")
    begun = request.headers.get("last-event-id") or checked.values["after"]
    after = (
        parse_position(begun, parts.followed_ledger.ends) if begun else parts.followed_ledger.ends
    )
    if after is None:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "A stream begins behind a seq: after=41.")
    selection = event_filter(checked.values)
    messages = _event_lines(parts, streams, checked, request, selection, after)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(messages, media_type=STREAM, headers=headers)


async def _event_lines(  # noqa: PLR0913, PLR0917 - a stream is all of this
    parts: Services,
    streams: ConcurrencyLimiter,
    checked: AuthorizedQuery,
    request: Request,
    selection: SubscriptionFilter,
    after: Ends,
) -> AsyncGenerator[str]:
    now_s = asyncio.get_running_loop().time
    checked_s = sent_s = now_s()
    try:
        with streams.acquire(checked.person.name):
            yield ": begun\n\n"
            while True:
                if now_s() - checked_s >= REMEMBERED_S:
                    checked, checked_s = await _authorize_again(parts, checked, request), now_s()
                page, end = await to_thread.run_sync(
                    wanted_events, parts, checked, selection, after, limiter=parts.threads.limiter
                )
                if page or now_s() - sent_s >= ALIVE_S:
                    yield page or ": alive\n\n"
                    sent_s = now_s()
                if end == after:
                    await asyncio.sleep(POLL_S)
                after = end
    except TidegateError as error:
        refusal = refusal_of(error)
        record = {} if refusal is None else refusal.as_status()
        yield f"event: refused\ndata: {msgspec.json.encode(record).decode()}\n\n"


async def _authorize_again(
    parts: Services, checked: AuthorizedQuery, request: Request
) -> AuthorizedQuery:
    """Return the request as it would be let in now.

    Raises:
        RefusalError: it would not.
    """
    person = await parts.callers.authenticate(request)
    sight = await sight_of(parts.rights, checked.endpoint, checked.values, person)
    return checked._replace(person=person, sight=sight)


def wanted_events(
    parts: Services, checked: AuthorizedQuery, selection: SubscriptionFilter, after: Ends
) -> tuple[str, Ends]:
    """Return the wanted events of a page behind a position, and how far was looked."""
    ends = parts.followed_ledger.ends
    begun = {partition: after.get(partition, 0) for partition in ends}
    if all(seq <= begun[partition] for partition, seq in ends.items()):
        return "", after
    lines, chars = list[str](), 0
    with parts.readers.lend() as reader:
        for entry, position in islice(events_since(reader, begun, ends), PAGE_ROWS):
            if selection.matches(entry):
                record = msgspec.to_builtins(event_at(entry, position))
                visible = redact(record, checked.sight)
                data = msgspec.json.encode(visible).decode()
                lines.append(f"id: {position}\nevent: {entry.type}\ndata: {data}\n\n")
                chars += len(lines[-1])
                if chars >= PAGE_CHARS:
                    break
    # Where nothing was wanted the reader still learns how far it is.
    return "".join(lines) or f"id: {position_text(begun)}\n: looked\n\n", begun
