"""Requests to an API server as the dispatcher makes them: objects in, objects out."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from tidegate.jobs.kind import Object
from tidegate.kube.answers import checked_body
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi, Response

_decoder = msgspec.json.Decoder(Object)


async def read(api: KubernetesApi, path: str, query: dict[str, str] | None = None) -> Object | None:
    """Return what is at a path; None if there is nothing.

    Raises:
        ApiStatusError: the server refused.
        ApiUnreachableError: no answer came.
    """
    sized = await read_sized(api, path, query)
    return None if sized is None else sized[0]


async def read_sized(
    api: KubernetesApi, path: str, query: dict[str, str] | None = None
) -> tuple[Object, int] | None:
    """Return what is at a path, and of how many bytes it is; as ``read`` otherwise."""
    answer = await api.request("GET", path, query=query)
    if answer.status == HTTPStatus.NOT_FOUND:
        return None
    return _object(answer), len(answer.body)


async def create(api: KubernetesApi, path: str, body: Object) -> Object | None:
    """Create an object in a collection; None if its name exists. Errors as in ``read``."""
    answer = await api.request("POST", path, body=msgspec.json.encode(body))
    return None if answer.status == HTTPStatus.CONFLICT else _object(answer)


async def patch(api: KubernetesApi, path: str, body: Object, obj: Object) -> Object:
    """Merge ``body`` into this very object; errors as in ``read``."""
    pinned = {**body, "metadata": {**body.get("metadata", {}), "uid": obj["metadata"]["uid"]}}
    answer = await api.request(
        "PATCH", path, body=msgspec.json.encode(pinned), content_type=MERGE_PATCH
    )
    return _object(answer)


async def delete(api: KubernetesApi, path: str, obj: Object) -> None:
    """Delete this very object, its dependents in the background; a missing one is deleted."""
    options = {
        "propagationPolicy": "Background",
        "preconditions": {"uid": obj["metadata"]["uid"]},
    }
    answer = await api.request("DELETE", path, body=msgspec.json.encode(options))
    if answer.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.ACCEPTED):
        _object(answer)


def _object(answer: Response) -> Object:
    return _decoder.decode(checked_body(answer))
