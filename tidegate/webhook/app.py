"""The application: AdmissionReviews are answered with patches, and never refused.

Whoever cannot be answered is let pass: ingest sees an object that slipped past, and a job that runs
without an admission is stopped.
"""

from __future__ import annotations

from asyncio import Semaphore
from base64 import b64encode
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tidegate.service.logs import get_log
from tidegate.webhook.expressions import Object
from tidegate.webhook.mutating import FindParam, Policy, mutate

BODY_BYTES_MAX = 37 * 2**20
"""Two objects of 3 MiB, each of whose characters the API server may write as six."""
AT_ONCE = 4
"""So many reviews are read and answered at once; the others wait their turn."""
_JSON = "application/json"
_NEEDED = {"uid", "object", "operation", "userInfo", "group", "version", "resource"}
"""Of a request, and of the resource that it names."""


class _Asked(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an AdmissionReview that is asked for; every other field is kept as it is."""

    request: dict[str, Any]


class Webhook:
    """Answers AdmissionReviews; counts what it did."""

    def __init__(self, policies: Mapping[str, Sequence[Policy]], find: FindParam) -> None:
        """Put to a request the policies that belong to the path at which it came."""
        self._policies, self._find = policies, find
        self._turns = Semaphore(AT_ONCE)
        self._log = get_log("webhook")
        self._registry = CollectorRegistry()
        self._reviews = Counter(
            "tidegate_webhook_reviews_total",
            "AdmissionReviews by what became of them: changed, unchanged, refused",
            ["outcome"],
            registry=self._registry,
        )
        self._passed_over = Counter(
            "tidegate_webhook_policies_passed_over_total",
            "Policies that could not be asked about an object",
            ["policy"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "tidegate_webhook_review_seconds", "Time to answer a review", registry=self._registry
        )

    def application(self) -> Starlette:
        """Return the application: the policies' paths, health and metrics."""
        return Starlette(
            routes=[
                Route("/healthz", _well),
                Route("/readyz", _well),
                Route("/metrics", self._metrics),
                *(Route(path, self._review, methods=["POST"]) for path in self._policies),
            ]
        )

    async def _review(self, request: Request) -> Response:
        async with self._turns:
            return await self._reviewed(request)

    async def _reviewed(self, request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return self._refused("longer than any review", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        request_body = _asked(body)
        if request_body is None:
            return self._refused("not an AdmissionReview", HTTPStatus.BAD_REQUEST)
        named = {key: request_body.get(key, "") for key in ("resource", "namespace", "name")}

        def pass_over(policy: str, why: str) -> None:
            self._passed_over.labels(policy).inc()
            self._log.warning("a policy is passed over", policy=policy, why=why, **named)

        with self._seconds.time():
            patch = await mutate(
                self._policies[request.url.path], request_body, self._find, pass_over
            )
        self._reviews.labels("changed" if patch else "unchanged").inc()
        return Response(_answer(request_body["uid"], patch), media_type=_JSON)

    def _refused(self, why: str, status: HTTPStatus) -> Response:
        self._reviews.labels("refused").inc()
        return Response(why, status)

    async def _metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)


def _asked(body: bytes) -> Object | None:
    """Return the AdmissionRequest of a review; None: it is none."""
    try:
        request_body = msgspec.json.decode(body, type=_Asked).request
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    resource = request_body.get("resource")
    parts = {*request_body, *(resource if isinstance(resource, dict) else ())}
    return request_body if parts >= _NEEDED else None


def _answer(uid: str, patch: list[Object]) -> bytes:
    response: Object = {"uid": uid, "allowed": True}
    if patch:
        encoded = b64encode(msgspec.json.encode(patch)).decode()
        response |= {"patchType": "JSONPatch", "patch": encoded}
    return msgspec.json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    )


async def _body(request: Request) -> bytes | None:
    """Return a request's body; None: it is longer than any that an API server sends."""
    parts, size = list[bytes](), 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_BYTES_MAX:
            return None
        parts.append(part)
    return b"".join(parts)


async def _well(_request: Request) -> Response:
    return Response("ok", media_type="text/plain")
