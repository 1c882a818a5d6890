"""The application: AdmissionReviews are answered with patches, and never refused.

If a review cannot be answered, the API server admits the object. ingest sees it then, and the
actuator stops a job that runs without an admission.
"""

from __future__ import annotations

from asyncio import Semaphore, timeout
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
from tidegate.webhook.params import NAME_MAX

BODY_BYTES_MAX = 37 * 2**20
"""Two objects of 3 MiB, each of whose characters the API server may write as six."""
AT_ONCE = 4
"""So many reviews are answered at once; the others wait their turn."""
READ_S = 5.0
"""How long a review may take to arrive: any pod can connect, and write as slowly as it likes."""
HELD_BYTES_MAX = AT_ONCE * BODY_BYTES_MAX
"""Of all reviews that are being read or wait; beyond that no more is read."""
_NAMED = ("resource", "namespace", "name")
_JSON = "application/json"
_NEEDED = {"uid", "object", "operation", "userInfo", "group", "version", "resource"}
"""Of a request, and of the resource that it names."""


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an AdmissionReview that is asked for; every other field is kept as it is."""

    request: dict[str, Any]


class Webhook:
    """Answers AdmissionReviews; counts what it did."""

    def __init__(self, policies: Mapping[str, Sequence[Policy]], find: FindParam) -> None:
        """Put to a request the policies that belong to the path at which it came."""
        self._policies, self._find = policies, find
        self._turns = Semaphore(AT_ONCE)
        self._held = 0  # bytes
        self._log = get_log("webhook")
        self.registry = CollectorRegistry()
        self._reviews = Counter(
            "tidegate_webhook_reviews_total",
            "AdmissionReviews by what became of them: changed, unchanged, refused",
            ["outcome"],
            registry=self.registry,
        )
        self._passed_over = Counter(
            "tidegate_webhook_policies_passed_over_total",
            "Policies that could not be asked about an object",
            ["policy"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "tidegate_webhook_review_seconds", "Time to answer a review", registry=self.registry
        )

    def application(self) -> Starlette:
        """Return the application: the policies' paths, health and metrics."""
        return Starlette(
            routes=[
                Route("/healthz", _report_healthy),
                Route("/readyz", _report_healthy),
                Route("/metrics", self._metrics),
                *(Route(path, self._handle_review, methods=["POST"]) for path in self._policies),
            ]
        )

    async def _handle_review(self, request: Request) -> Response:
        """Answer a review; a client that sends slowly does not take a turn."""
        body = bytearray()
        try:
            async with timeout(READ_S):
                refused = await self._read_body(request, body)
            if refused is not None:
                return refused
            async with self._turns:
                return await self._answer_review(request, bytes(body))
        except TimeoutError:
            return self._refuse("not read in time", HTTPStatus.REQUEST_TIMEOUT)
        finally:
            self._held -= len(body)

    async def _read_body(self, request: Request, body: bytearray) -> Response | None:
        """Read a review, as far as there is room; return why not."""
        async for part in request.stream():
            body += part
            self._held += len(part)
            if len(body) > BODY_BYTES_MAX:
                return self._refuse("longer than any review", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            if self._held > HELD_BYTES_MAX:
                return self._refuse("too many reviews", HTTPStatus.SERVICE_UNAVAILABLE)
        return None

    async def _answer_review(self, request: Request, body: bytes) -> Response:
        request_body = _decode_request(body)
        if request_body is None:
            return self._refuse("not an AdmissionReview", HTTPStatus.BAD_REQUEST)
        named = {key: str(request_body.get(key, ""))[:NAME_MAX] for key in _NAMED}

        def pass_over(policy: str, why: str) -> None:
            self._passed_over.labels(policy).inc()
            self._log.warning("a policy is passed over", policy=policy, why=why, **named)

        with self._seconds.time():
            patch = await mutate(
                self._policies[request.url.path], request_body, self._find, pass_over
            )
        self._reviews.labels("changed" if patch else "unchanged").inc()
        return Response(_review_response(request_body["uid"], patch), media_type=_JSON)

    def _refuse(self, why: str, status: HTTPStatus) -> Response:
        self._reviews.labels("refused").inc()
        return Response(why, status)

    async def _metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)


def _decode_request(body: bytes) -> Object | None:
    """Return the AdmissionRequest of a review; None: it is none."""
    try:
        request_body = msgspec.json.decode(body, type=_Review).request
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    resource = request_body.get("resource")
    parts = {*request_body, *(resource if isinstance(resource, dict) else ())}
    return request_body if parts >= _NEEDED else None


def _review_response(uid: str, patch: list[Object]) -> bytes:
    response: Object = {"uid": uid, "allowed": True}
    if patch:
        encoded = b64encode(msgspec.json.encode(patch)).decode()
        response |= {"patchType": "JSONPatch", "patch": encoded}
    return msgspec.json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    )


async def _report_healthy(_request: Request) -> Response:
    return Response("ok", media_type="text/plain")
