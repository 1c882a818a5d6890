"""One request from its headers to its answer: authentication, rights, and what is visible."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, TypeAlias

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response

from tidegate.cli.commands.show.positions import SECOND_US
from tidegate.cli.ledger.lag import lag_us
from tidegate.jobs.kind import JobKind
from tidegate.jobs.registry import JOB_KINDS
from tidegate.serve.api.asking import Endpoint, Question, part_of
from tidegate.serve.api.shapes import Me
from tidegate.serve.auth.callers import Callers
from tidegate.serve.auth.crowd import Crowd
from tidegate.serve.auth.hiding import hide
from tidegate.serve.auth.reviews import Person
from tidegate.serve.auth.rights import LIST_QUEUES, LIST_WORKLOADS, Rights, Sight
from tidegate.serve.ledger.partitions.following import Following
from tidegate.serve.ledger.partitions.positions import Ends, as_of, total, written
from tidegate.serve.ledger.readers import Readers
from tidegate.serve.ledger.replies import Replies, Reply
from tidegate.serve.ledger.sums import Sums
from tidegate.serve.refusals import RefusalError

BODY_MAX = 256 * 1_024
"""The most bytes of a request's body: as many as an observation of a job may have."""
THREADS, WAITING_MAX = 2, 64
"""Answers are worked out by so many threads, and one more for what the core decides; a request that
comes when so many wait is sent away."""
OF_ONE_MAX, DECIDED_OF_ONE_MAX = 8, 2
"""So many requests of one person may wait or be worked out at once; of what the core decides fewer,
for one of these keeps its only thread busy for many seconds."""
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
JSON, TEXT = "application/json", "text/plain; charset=utf-8"


class Threads(NamedTuple):
    """The threads that answers are worked out by, and the requests that wait for one."""

    limiter: CapacityLimiter
    crowd: Crowd


class Parts(NamedTuple):
    """The parts that answer requests."""

    callers: Callers
    rights: Rights
    live: Following
    readers: Readers
    sums: Sums
    replies: Replies
    threads: Threads
    deciding: Threads


class Moment(NamedTuple):
    """The inputs of an answer."""

    ends: Ends
    past: bool  # it was asked about a moment of the past
    past_us: int = 0  # see ``Reader.past_us``
    moved: int = 0  # how far clock or index got since: see ``Endpoint.moves``

    @property
    def seq(self) -> int:
        """Return the number of events: of one partition the newest one's seq."""
        return total(self.ends)

    @property
    def position(self) -> str:
        """Return how far each of several partitions is; of one the seq says it."""
        return written(self.ends) if len(self.ends) > 1 else ""


class Query(NamedTuple):
    """A request that was let in."""

    endpoint: Endpoint
    values: Mapping[str, str]
    person: Person
    sight: Sight
    body: bytes = b""


async def authorized(parts: Parts, endpoint: Endpoint, request: Request) -> Query:
    """Return the query of a request, once its caller is authorized.

    Raises:
        RefusalError: they may not, or it is asked wrongly.
    """
    person = await parts.callers.person(request)
    values = endpoint.values(request.path_params, dict(request.query_params))
    sight = await sight_of(parts.rights, endpoint, values, person)
    body = await _body(request) if endpoint.takes else b""
    return Query(endpoint, values, person, sight, body)


async def sight_of(
    rights: Rights, endpoint: Endpoint, values: Mapping[str, str], person: Person
) -> Sight:
    """Return what a user may see.

    Raises:
        RefusalError: they may not ask this.
    """
    namespace = values.get("namespace", "")
    match endpoint.scope:
        case "anyone":
            return Sight()
        case "workload":
            return await rights.workload(person, namespace, _jobs(values["kind"]))
        case "everything":
            return await rights.everything(person)
        case "queues" | "queues or namespace" if not namespace:
            return await rights.queues(person)
        case "pending in cluster queue" | "pending in local queue":
            return await rights.pending(person, namespace, values["name"])
        case _:
            access = rights.namespace(person, namespace) if namespace else rights.everything(person)
            return await access


async def answer(parts: Parts, query: Query, request: Request) -> Response:
    """Answer a request that was let in: from what is remembered, or worked out in a thread.

    Raises:
        RefusalError: there is no such thing, or too many wait already, of all or of its person.
    """
    threads = parts.deciding if query.endpoint.decides else parts.threads
    if threads.limiter.statistics().tasks_waiting >= WAITING_MAX:
        message = "Too many requests wait: try again."
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=2)
    if parts.live.fault:
        message = "The ledger is being read: try again."
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=2)
    with threads.crowd.entered(query.person.name):
        return await _answer(parts, query, request, threads.limiter)


async def _answer(
    parts: Parts, query: Query, request: Request, limiter: CapacityLimiter
) -> Response:
    moment = await to_thread.run_sync(_moment, parts, query, limiter=parts.threads.limiter)
    tag = _tag(parts.live.ledger_id, moment, query.sight)
    headers = {
        "ETag": tag,
        "Tidegate-Seq": str(moment.seq),
        "Cache-Control": "private, no-cache",
        "Vary": "Authorization, Accept",
        **({"Tidegate-Position": moment.position} if moment.position else {}),
    }
    etag = "" if query.body else request.headers.get("if-none-match", "")
    if tag in etag.split(", "):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    key = (query.endpoint.path, *sorted(query.values.items()), tag, _digest(query.body))
    reply = parts.replies.get(key)
    if reply is None:
        reply = await to_thread.run_sync(_worked_out, parts, query, moment, limiter=limiter)
        parts.replies.put(key, reply)
    return Response(reply.body, media_type=reply.kind, headers=headers)


def answered(parts: Parts, endpoint: Endpoint) -> Handler:
    """Return what handles requests of an endpoint."""

    async def handle(request: Request) -> Response:
        return await answer(parts, await authorized(parts, endpoint, request), request)

    return handle


def me(parts: Parts, endpoint: Endpoint) -> Handler:
    """Return the handler that tells callers their own user and rights."""

    async def handle(request: Request) -> Response:
        person = (await authorized(parts, endpoint, request)).person
        identity = Me(
            name=person.name,
            everything=await parts.rights.may(person, LIST_WORKLOADS),
            queues=await parts.rights.may(person, LIST_QUEUES),
        )
        return Response(msgspec.json.encode(identity), media_type=JSON)

    return handle


def _jobs(kind: str) -> list[JobKind[Any]]:
    """Return the kinds of job that a word means; empty: batch/v1's Job."""
    framework = kind or "batch/job"
    return [row for name, row in JOB_KINDS.items() if framework in {name, name.rpartition("/")[2]}]


async def _body(request: Request) -> bytes:
    """Return what was sent.

    Raises:
        RefusalError: it is too large.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_MAX:
            message = f"The body has more than {BODY_MAX} bytes."
            raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
    return bytes(body)


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest() if body else b""


def _moment(parts: Parts, query: Query) -> Moment:
    text, ends = query.values.get("asOf", ""), parts.live.ends
    moves = query.endpoint.moves
    if text or moves == "clock":
        with parts.readers.lend() as reader:
            then = as_of(reader, text, "asOf") if text else reader
            behind_us = sum(map(lag_us, then.each())) if moves == "clock" else 0
            at = {each.partition: each.end for each in then.each()}
            return Moment(at, then.past, then.past_us, behind_us // SECOND_US)
    return Moment(ends, past=False, moved=parts.live.verified if moves == "index" else 0)


def _tag(ledger_id: str, moment: Moment, sight: Sight) -> str:
    version = f"{ledger_id} {moment.moved} {sight.key()}{moment.position}"
    return f'"{moment.seq}-{hashlib.sha256(version.encode()).hexdigest()[:12]}"'


def _worked_out(parts: Parts, query: Query, moment: Moment) -> Reply:
    row = query.endpoint
    assert row.run is not None, "it is answered from the ledger"
    then = moment.ends if moment.past else None
    with parts.readers.lend(then, moment.past_us, reports=row.reports) as reader:
        partitions = {each.partition for each in reader.each()}
        question = Question(
            reader,
            tuple(each for each in parts.live.each() if each.partition in partitions),
            parts.sums,
            query.values,
            query.sight,
            moment.past,
            query.body,
        )
        result = row.run(question)
    if row.listed:
        result = _listed(result, query, moment)
    visible = hide(msgspec.to_builtins(result), query.sight)
    if isinstance(visible, str):
        return Reply(TEXT, visible.encode())
    return Reply(JSON, msgspec.json.encode(_converted(visible, row.form())))


def _listed(items: list[Any], query: Query, moment: Moment) -> dict[str, Any]:
    offset, limit = part_of(query.values)
    end = offset + limit
    return {
        "seq": moment.seq,
        "total": len(items),
        "items": items[offset:end],
        "nextOffset": end if end < len(items) else None,
        **({"position": moment.position} if moment.position else {}),
    }


def _converted(answer: Any, kind: Any) -> Any:  # noqa: ANN401 - any answer, and its type
    """Return an answer in the form that is documented for it."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise AssertionError(f"an answer is not of its form: {error}") from error
