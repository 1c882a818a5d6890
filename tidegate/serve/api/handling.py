"""One request from its headers to its answer: authentication, rights, and what is visible."""

from __future__ import annotations

import hashlib
from asyncio import timeout
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from http import HTTPStatus
from typing import Any, NamedTuple, TypeAlias

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response

from tidegate.cli.commands.show.positions import SECOND_US
from tidegate.cli.ledger.reader import lag_us
from tidegate.jobs.kind import JobKind
from tidegate.jobs.registry import JOB_KINDS
from tidegate.serve.api.endpoint import Endpoint, Question, offset_and_limit
from tidegate.serve.api.sending import HeldResponse
from tidegate.serve.api.shapes import Me
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import ConcurrencyLimiter
from tidegate.serve.auth.redaction import redact
from tidegate.serve.auth.reviews import User
from tidegate.serve.auth.rights import LIST_QUEUES, LIST_WORKLOADS, Rights, Visibility
from tidegate.serve.ledger.caches import Reply, ReplyCache, RowCache
from tidegate.serve.ledger.partitions.following import LedgerFollower
from tidegate.serve.ledger.partitions.positions import (
    Ends,
    event_count,
    partitions_as_of,
    position_text,
)
from tidegate.serve.ledger.readers import ReaderPool
from tidegate.serve.refusals import RefusalError

BODY_MAX = 256 * 1_024
"""The most bytes of a request's body: as many as an observation of a job may have."""
READ_S = 10.0
"""How long a body may take to arrive."""
THREADS, WAITING_MAX = 2, 64
"""Answers are worked out by so many threads, and one more for what the core decides; a request that
comes when so many wait is sent away."""
OF_ONE_MAX, DECIDED_OF_ONE_MAX = 8, 2
"""So many requests of one person may wait or be worked out at once; of what the core decides fewer,
for one of these keeps its only thread busy for many seconds."""
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
JSON, TEXT = "application/json", "text/plain; charset=utf-8"


class ThreadPool(NamedTuple):
    """The threads that answers are worked out by, and the requests that wait for one."""

    limiter: CapacityLimiter
    admission: ConcurrencyLimiter


class Services(NamedTuple):
    """The parts that answer requests."""

    callers: Authenticator
    rights: Rights
    followed_ledger: LedgerFollower
    readers: ReaderPool
    sums: RowCache
    replies: ReplyCache
    threads: ThreadPool
    deciding: ThreadPool


class AnswerBasis(NamedTuple):
    """The inputs of an answer."""

    ends: Ends
    past: bool  # it was asked about a moment of the past
    past_us: int = 0  # see ``Reader.past_us``
    moved: int = 0  # how far clock or index got since: see ``Endpoint.moves``

    @property
    def seq(self) -> int:
        """Return the number of events: of one partition the newest one's seq."""
        return event_count(self.ends)

    @property
    def position(self) -> str:
        """Return how far each of several partitions is; of one the seq says it."""
        return position_text(self.ends) if len(self.ends) > 1 else ""


class AuthorizedQuery(NamedTuple):
    """A request that was let in."""

    endpoint: Endpoint
    values: Mapping[str, str]
    person: User
    sight: Visibility
    body: bytes = b""


async def authorize(parts: Services, endpoint: Endpoint, request: Request) -> AuthorizedQuery:
    """Return the query of a request, once its caller is authorized.

    Raises:
        RefusalError: they may not, or it is asked wrongly.
    """
    person = await parts.callers.authenticate(request)
    values = endpoint.values(request.path_params, dict(request.query_params))
    sight = await sight_of(parts.rights, endpoint, values, person)
    body = await _read_body(request) if endpoint.body_type else b""
    return AuthorizedQuery(endpoint, values, person, sight, body)


async def sight_of(
    rights: Rights, endpoint: Endpoint, values: Mapping[str, str], person: User
) -> Visibility:
    """Return what a user may see.

    Raises:
        RefusalError: they may not ask this.
    """
    namespace = values.get("namespace", "")
    match endpoint.scope:
        case "anyone":
            return Visibility()
        case "workload":
            return await rights.visibility_of_workload(
                person, namespace, _job_kinds(values["kind"])
            )
        case "everything":
            return await rights.visibility_of_all(person)
        case "queues" | "queues or namespace" if not namespace:
            return await rights.visibility_of_queues(person)
        case "pending in cluster queue" | "pending in local queue":
            return await rights.visibility_of_pending(person, namespace, values["name"])
        case _:
            access = (
                rights.visibility_of_namespace(person, namespace)
                if namespace
                else rights.visibility_of_all(person)
            )
            return await access


async def answer(parts: Services, query: AuthorizedQuery, request: Request) -> Response:
    """Answer a request that was let in: from what is remembered, or worked out in a thread."""
    threads = parts.deciding if query.endpoint.decides else parts.threads
    if threads.limiter.statistics().tasks_waiting >= WAITING_MAX:
        message = "Too many requests wait: try again."
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=2)
    if parts.followed_ledger.fault:
        message = "The ledger is being read: try again."
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=2)
    with ExitStack() as slots:
        slots.enter_context(threads.admission.acquire(query.person.name))
        response = await _answer(parts, query, request, threads.limiter)
        return HeldResponse(response, slots.pop_all())


async def _answer(
    parts: Services, query: AuthorizedQuery, request: Request, limiter: CapacityLimiter
) -> Response:
    moment = await to_thread.run_sync(_basis_of, parts, query, limiter=parts.threads.limiter)
    tag = _entity_tag(parts.followed_ledger.ledger_id, moment, query.sight)
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
    key = (query.endpoint.path, *sorted(query.values.items()), tag, _body_digest(query.body))
    reply = parts.replies.get(key)
    if reply is None:
        reply = await to_thread.run_sync(compute_reply, parts, query, moment, limiter=limiter)
        parts.replies.put(key, reply)
    return Response(reply.body, media_type=reply.kind, headers=headers)


def answer_handler(parts: Services, endpoint: Endpoint) -> Handler:
    """Return what handles requests of an endpoint."""

    async def handle(request: Request) -> Response:
        return await answer(parts, await authorize(parts, endpoint, request), request)

    return handle


def identity_handler(parts: Services, endpoint: Endpoint) -> Handler:
    """Return the handler that tells callers their own user and rights."""

    async def handle(request: Request) -> Response:
        person = (await authorize(parts, endpoint, request)).person
        identity = Me(
            name=person.name,
            everything=await parts.rights.is_allowed(person, LIST_WORKLOADS),
            queues=await parts.rights.is_allowed(person, LIST_QUEUES),
        )
        return Response(msgspec.json.encode(identity), media_type=JSON)

    return handle


def _job_kinds(kind: str) -> list[JobKind[Any]]:
    """Return the kinds of job that a word means; empty: batch/v1's Job."""
    framework = kind or "batch/job"
    return [row for name, row in JOB_KINDS.items() if framework in {name, name.rpartition("/")[2]}]


async def _read_body(request: Request) -> bytes:
    """Return what was sent."""
    body = bytearray()
    try:
        async with timeout(READ_S):
            async for part in request.stream():
                body += part
                if len(body) > BODY_MAX:
                    message = f"The body has more than {BODY_MAX} bytes."
                    raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
    except TimeoutError:
        message = f"The body did not come within {READ_S:g} s."
        raise RefusalError(HTTPStatus.REQUEST_TIMEOUT, message) from None
    return bytes(body)


def _body_digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest() if body else b""


def _basis_of(parts: Services, query: AuthorizedQuery) -> AnswerBasis:
    text, ends = query.values.get("asOf", ""), parts.followed_ledger.ends
    moves = query.endpoint.moves
    if text or moves == "clock":
        with parts.readers.lend() as reader:
            then = partitions_as_of(reader, text, "asOf") if text else reader
            behind_us = sum(map(lag_us, then.partition_readers())) if moves == "clock" else 0
            at = {each.partition: each.end for each in then.partition_readers()}
            return AnswerBasis(at, then.past, then.past_us, behind_us // SECOND_US)
    return AnswerBasis(
        ends, past=False, moved=parts.followed_ledger.verified_count if moves == "index" else 0
    )


def _entity_tag(ledger_id: str, moment: AnswerBasis, sight: Visibility) -> str:
    version = f"{ledger_id} {moment.moved} {sight.key()}{moment.position}"
    return f'"{moment.seq}-{hashlib.sha256(version.encode()).hexdigest()[:12]}"'


def compute_reply(parts: Services, query: AuthorizedQuery, moment: AnswerBasis) -> Reply:
    """Work an answer out."""
    row = query.endpoint
    assert row.run is not None, "it is answered from the ledger"
    then = moment.ends if moment.past else None
    with parts.readers.lend(then, moment.past_us, reports=row.reports) as reader:
        partitions = {each.partition for each in reader.partition_readers()}
        question = Question(
            reader,
            tuple(
                each for each in parts.followed_ledger.partitions() if each.partition in partitions
            ),
            parts.sums,
            query.values,
            query.sight,
            moment.past,
            query.body,
        )
        result = row.run(question)
    if row.listed:
        result = _page_of(result, query, moment)
    visible = redact(msgspec.to_builtins(result), query.sight)
    if isinstance(visible, str):
        return Reply(TEXT, visible.encode())
    return Reply(JSON, msgspec.json.encode(_validate_answer(visible, row.answer_type())))


def _page_of(items: list[Any], query: AuthorizedQuery, moment: AnswerBasis) -> dict[str, Any]:
    offset, limit = offset_and_limit(query.values)
    end = offset + limit
    return {
        "seq": moment.seq,
        "total": len(items),
        "items": items[offset:end],
        "nextOffset": end if end < len(items) else None,
        **({"position": moment.position} if moment.position else {}),
    }


def _validate_answer(answer: Any, kind: Any) -> Any:  # noqa: ANN401 - any answer, and its type
    """Return an answer in the form that is documented for it."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise AssertionError(f"an answer is not of its form: {error}") from error
