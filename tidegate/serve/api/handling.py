"""One request from its headers to its answer: who asks, if they may, and what they are told."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, TypeAlias

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response

from tidegate.jobs.kind import JobKind
from tidegate.jobs.registry import JOB_KINDS
from tidegate.serve.api.asking import Endpoint, Question, part_of
from tidegate.serve.api.shapes import Me
from tidegate.serve.auth.callers import Callers
from tidegate.serve.auth.hiding import hide
from tidegate.serve.auth.reviews import Person
from tidegate.serve.auth.rights import LIST_QUEUES, LIST_WORKLOADS, Rights, Sight
from tidegate.serve.ledger.live import Live
from tidegate.serve.ledger.notes import Notes
from tidegate.serve.ledger.readers import Readers
from tidegate.serve.ledger.replies import Replies, Reply
from tidegate.serve.refusals import RefusalError

BODY_MAX = 256 * 1_024
"""What is sent may have so many bytes: as much as is told of one job."""
THREADS, WAITING_MAX = 2, 64
"""Answers are worked out by so many threads; whoever comes when so many wait is sent away."""
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
JSON, TEXT = "application/json", "text/plain; charset=utf-8"


class Parts(NamedTuple):
    """What requests are answered from."""

    callers: Callers
    rights: Rights
    live: Live
    readers: Readers
    notes: Notes
    replies: Replies
    threads: CapacityLimiter


class Asked(NamedTuple):
    """A request that was let in."""

    endpoint: Endpoint
    values: Mapping[str, str]
    person: Person
    sight: Sight
    body: bytes = b""


async def let_in(parts: Parts, endpoint: Endpoint, request: Request) -> Asked:
    """Return a request of somebody who may ask it.

    Raises:
        RefusalError: they may not, or it is asked wrongly.
    """
    person = await parts.callers.person(request)
    values = endpoint.values(request.path_params, dict(request.query_params))
    sight = await sight_of(parts.rights, endpoint, values, person)
    body = await _body(request) if endpoint.takes else b""
    return Asked(endpoint, values, person, sight, body)


async def sight_of(
    rights: Rights, endpoint: Endpoint, values: Mapping[str, str], person: Person
) -> Sight:
    """Return what somebody may be told of.

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
            coroutine = (
                rights.namespace(person, namespace) if namespace else rights.everything(person)
            )
            return await coroutine


async def answer(parts: Parts, request_checked: Asked, request: Request) -> Response:
    """Answer a request that was let in: from what is remembered, or worked out in a thread.

    Raises:
        RefusalError: there is no such thing, or too many wait already.
    """
    if parts.threads.statistics().tasks_waiting >= WAITING_MAX:
        message = "Too many requests wait: try again."
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=2)
    if parts.live.fault:
        message = "The ledger is being read: try again."
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=2)
    seq, past = await to_thread.run_sync(_moment, parts, request_checked, limiter=parts.threads)
    tag = _tag(parts.live.ledger_id, seq, request_checked.sight)
    headers = {
        "ETag": tag,
        "Tidegate-Seq": str(seq),
        "Cache-Control": "private, no-cache",
        "Vary": "Authorization, Accept",
    }
    etag = "" if request_checked.body else request.headers.get("if-none-match", "")
    if tag in etag.split(", "):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    key = (
        request_checked.endpoint.path,
        *sorted(request_checked.values.items()),
        tag,
        _digest(request_checked.body),
    )
    reply = parts.replies.get(key)
    if reply is None:
        reply = await to_thread.run_sync(
            _worked_out, parts, request_checked, seq, past, limiter=parts.threads
        )
        parts.replies.put(key, reply)
    return Response(reply.body, media_type=reply.kind, headers=headers)


def answered(parts: Parts, endpoint: Endpoint) -> Handler:
    """Return what handles requests of an endpoint."""

    async def handle(request: Request) -> Response:
        return await answer(parts, await let_in(parts, endpoint, request), request)

    return handle


def me(parts: Parts, endpoint: Endpoint) -> Handler:
    """Return what tells people whom the server takes them for."""

    async def handle(request: Request) -> Response:
        person = (await let_in(parts, endpoint, request)).person
        body = Me(
            name=person.name,
            everything=await parts.rights.may(person, LIST_WORKLOADS),
            queues=await parts.rights.may(person, LIST_QUEUES),
        )
        return Response(msgspec.json.encode(body), media_type=JSON)

    return handle


def _jobs(kind: str) -> list[JobKind[Any]]:
    """Return the kinds of job that a word means; empty: batch/v1's Job."""
    expected = kind or "batch/job"
    return [row for name, row in JOB_KINDS.items() if expected in {name, name.rpartition("/")[2]}]


async def _body(request: Request) -> bytes:
    """Return what was sent.

    Raises:
        RefusalError: it is too large.
    """
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > BODY_MAX:
            message = f"The body has more than {BODY_MAX} bytes."
            raise RefusalError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
    return bytes(content)


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest() if body else b""


def _moment(parts: Parts, checked: Asked) -> tuple[int, bool]:
    """Return the seq that is asked about, and whether that is of the past."""
    text = checked.values.get("asOf", "")
    if not text:
        return parts.live.seq, False
    with parts.readers.lend() as reader:
        return reader.seq_of(text, "asOf"), True


def _tag(ledger_id: str, seq: int, sight: Sight) -> str:
    digest = hashlib.sha256(f"{ledger_id} {sight.key()}".encode()).hexdigest()[:12]
    return f'"{seq}-{digest}"'


def _worked_out(parts: Parts, checked: Asked, seq: int, past: bool) -> Reply:  # noqa: FBT001 - of a thread
    row = checked.endpoint
    assert row.run is not None, "it is answered from the ledger"
    with parts.readers.lend(seq if past else 0, reports=row.reports) as reader:
        question = Question(
            reader, parts.live, parts.notes, checked.values, checked.sight, past, checked.body
        )
        result = row.run(question)
    if row.listed:
        result = _listed(result, checked, seq)
    visible = hide(msgspec.to_builtins(result), checked.sight)
    if isinstance(visible, str):
        return Reply(TEXT, visible.encode())
    return Reply(JSON, msgspec.json.encode(_held(visible, row.form())))


def _listed(results: list[Any], checked: Asked, seq: int) -> dict[str, Any]:
    offset, limit = part_of(checked.values)
    end = offset + limit
    return {
        "seq": seq,
        "total": len(results),
        "items": results[offset:end],
        "nextOffset": end if end < len(results) else None,
    }


def _held(plain: Any, kind: Any) -> Any:  # noqa: ANN401 - any answer, and its type
    """Return an answer in the form that is documented for it."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise AssertionError(f"an answer is not of its form: {error}") from error
