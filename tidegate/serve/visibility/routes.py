"""Paths below /apis: requests that the API server proxies to this server, with their user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tidegate.serve.api.answering import answer_why
from tidegate.serve.api.endpoint import LIMITED, OFFSET, Endpoint, Question
from tidegate.serve.api.endpoints import WHY
from tidegate.serve.api.handling import JSON, Handler, Services, answer_handler
from tidegate.serve.visibility import discovery, pending
from tidegate.serve.visibility.discovery import READ, VERSIONS, VISIBILITY

_ANY = dict[str, Any]
_PAGED = tuple(row._replace(signed=True) for row in (LIMITED, OFFSET))


def visibility_routes(parts: Services) -> list[Route]:
    """Return the routes of both groups, in all their versions."""
    routes = [Route("/apis", _document_handler(discovery.api_group_list()))]
    for group, versions in VERSIONS.items():
        routes.append(Route(f"/apis/{group}", _document_handler(discovery.api_group(group))))
        for version in versions:
            place = f"/apis/{group}/{version}"
            routes.append(
                Route(place, _document_handler(discovery.api_resource_list(group, version)))
            )
    for version in VERSIONS[VISIBILITY]:
        root = f"/apis/{VISIBILITY}/{version}"
        routes += [
            Route(row.path, answer_handler(parts, row)) for row in pending_endpoints(root, version)
        ]
    why = msgspec.structs.replace(
        WHY, path=f"/apis/{READ}/v1/namespaces/{{namespace}}/workloads/{{name}}/why"
    )
    assert why.run is answer_why
    return [*routes, Route(why.path, answer_handler(parts, why))]


def pending_endpoints(root: str, version: str) -> list[Endpoint]:
    """Return the questions of a version of the visibility API."""
    return [
        Endpoint(
            path=f"{root}/clusterqueues/{{name}}/pendingworkloads",
            about="Pending workloads of a ClusterQueue.",
            answer=_ANY,
            run=_with_version(version, pending.cluster_queue_pending),
            scope="pending in cluster queue",
            parameters=_PAGED,
        ),
        Endpoint(
            path=f"{root}/namespaces/{{namespace}}/localqueues/{{name}}/pendingworkloads",
            about="Pending workloads of a LocalQueue.",
            answer=_ANY,
            run=_with_version(version, pending.local_queue_pending),
            scope="pending in local queue",
            parameters=_PAGED,
        ),
    ]


def _with_version(version: str, run: Callable[[Question], Any]) -> Callable[[Question], Any]:
    def handler(question: Question) -> Any:  # noqa: ANN401 - whatever JSON can say
        return run(question._replace(values={**question.values, "version": version}))

    return handler


def _document_handler(record: dict[str, Any]) -> Handler:
    body = msgspec.json.encode(record)

    async def handle(_request: Request) -> Response:
        return Response(body, media_type=JSON)

    return handle
