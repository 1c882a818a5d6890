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
from tidegate.serve.api.answering import event_at, events_since, wish_of
from tidegate.serve.api.asking import Endpoint
from tidegate.serve.api.handling import Handler, Parts, Query, answer, authorized, sight_of
from tidegate.serve.auth.crowd import Crowd
from tidegate.serve.auth.hiding import hide
from tidegate.serve.auth.reviews import REMEMBERED_S
from tidegate.serve.ledger.partitions.positions import Ends, read, written
from tidegate.serve.refusals import RefusalError, refusal_of
from tidegate.subscribe import Wish

STREAM = "text/event-stream"
POLL_S, ALIVE_S = 0.25, 15.0
STREAMS_MAX, STREAMS_OF_ONE_MAX = 200, 8


def events(parts: Parts, endpoint: Endpoint, streams: Crowd) -> Handler:
    """Return what handles requests for events: a page of them, or a stream."""

    async def handle(request: Request) -> Response:
        checked = await authorized(parts, endpoint, request)
        if STREAM in request.headers.get("accept", ""):
            return stream(parts, streams, checked, request)
        return await answer(parts, checked, request)

    return handle


def stream(parts: Parts, streams: Crowd, checked: Query, request: Request) -> StreamingResponse:
    """Return a response that goes on as events are written.

    Raises:
        RefusalError: it begins at no seq, or is asked of the past.
        UnknownNameError: there is no such type of event.
    """
    if checked.values["asOf"]:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "asOf looks back, and a stream does not.")
    begun = request.headers.get("last-event-id") or checked.values["after"]
    after = read(begun, parts.live.ends) if begun else parts.live.ends
    if after is None:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "A stream begins behind a seq: after=41.")
    wish = wish_of(checked.values)
    messages = _lines(parts, streams, checked, request, wish, after)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(messages, media_type=STREAM, headers=headers)


async def _lines(  # noqa: PLR0913, PLR0917 - a stream is all of this
    parts: Parts, streams: Crowd, checked: Query, request: Request, wish: Wish, after: Ends
) -> AsyncGenerator[str]:
    now_s = asyncio.get_running_loop().time
    checked_s = sent_s = now_s()
    try:
        with streams.entered(checked.person.name):
            yield ": begun\n\n"
            while True:
                if now_s() - checked_s >= REMEMBERED_S:
                    checked, checked_s = await _again(parts, checked, request), now_s()
                page, end = await to_thread.run_sync(
                    _page, parts, checked, wish, after, limiter=parts.threads.limiter
                )
                if page or now_s() - sent_s >= ALIVE_S:
                    yield page or ": alive\n\n"
                    sent_s = now_s()
                if end == after:
                    await asyncio.sleep(POLL_S)
                after = end
    except TidegateError as error:
        refusal = refusal_of(error)
        record = {} if refusal is None else refusal.record()
        yield f"event: refused\ndata: {msgspec.json.encode(record).decode()}\n\n"


async def _again(parts: Parts, checked: Query, request: Request) -> Query:
    """Return the request as it would be let in now.

    Raises:
        RefusalError: it would not.
    """
    person = await parts.callers.person(request)
    sight = await sight_of(parts.rights, checked.endpoint, checked.values, person)
    return checked._replace(person=person, sight=sight)


def _page(parts: Parts, checked: Query, wish: Wish, after: Ends) -> tuple[str, Ends]:
    """Return the wanted events of a page behind a position, and how far was looked."""
    ends = parts.live.ends
    begun = {partition: after.get(partition, 0) for partition in ends}
    if all(seq <= begun[partition] for partition, seq in ends.items()):
        return "", after
    lines = list[str]()
    with parts.readers.lend() as reader:
        for entry, position in islice(events_since(reader, begun, ends), PAGE_ROWS):
            if wish.takes(entry):
                record = msgspec.to_builtins(event_at(entry, position))
                visible = hide(record, checked.sight)
                data = msgspec.json.encode(visible).decode()
                lines.append(f"id: {position}\nevent: {entry.type}\ndata: {data}\n\n")
    # Where nothing was wanted the reader still learns how far it is.
    return "".join(lines) or f"id: {written(begun)}\n: looked\n\n", begun
