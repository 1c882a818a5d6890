"""Routes of verbs and paths to functions; a refusal is raised, an answer returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from apiserver.refusals import (
    bad_request,
    expired,
    no_such_method,
    no_such_path,
    too_large_version,
    wrong_media_type,
)
from apiserver.requests.paths import Target
from apiserver.requests.selectors import selector
from apiserver.resources import PODS
from apiserver.watches import read_version, read_whole_number
from apiserver.writes.binding import bind_pod
from apiserver.writes.deleting import DeleteOptions, delete
from apiserver.writes.registry import Registry, WriteOptions
from tidegate.kube.ports import Response

Object = dict[str, Any]
Query = Mapping[str, str]


class RequestContent(NamedTuple):
    """The media type, the body and the user of a request."""

    content_type: str
    body: bytes
    user: str  # the user, by Impersonate-User; empty: the server's own administrator


_PROTOBUF = "application/vnd.kubernetes.protobuf"
_BOUND = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def handle_request(
    registry: Registry, method: str, target: Target, query: Query, request_body: RequestContent
) -> Response:
    """Answer a request.

    Raises:
        RefusedError: what was asked for is wrong, not there, or not supported.
    """
    if query.get("dryRun") and (method, target.name) != ("POST", ""):
        raise bad_request("the embedded server supports dryRun for creations only")
    if request_body.content_type.startswith(_PROTOBUF):
        raise wrong_media_type(f"{_PROTOBUF}; the embedded server takes JSON")
    if target.subresource:
        return _handle_subresource(registry, method, target, query, request_body)
    if target.name:
        return _handle_object(registry, method, target, query, request_body)
    match method:
        case "GET":
            return Response(200, _list_body(registry, target, query))
        case "POST" if target.namespace is not None or not target.resource.namespaced:
            where = target.resource, target.namespace_key
            obj = registry.create(
                *where, _read_object(request_body.body), _write_options(query, request_body)
            )
            return _object_response(registry, target, obj, 201)
        case "DELETE":
            return Response(200, _delete_collection(registry, target, query, request_body.body))
        case _:
            raise no_such_method()


def _handle_object(
    registry: Registry, method: str, target: Target, query: Query, request_body: RequestContent
) -> Response:
    where = target.resource, target.namespace_key, target.name
    match method:
        case "GET":
            return _object_response(registry, target, registry.find(*where))
        case "PUT":
            stored = registry.replace(
                *where, _read_object(request_body.body), _write_options(query, request_body)
            )
            return _object_response(registry, target, stored)
        case "PATCH":
            stored = registry.patch(*where, request_body[:2], _write_options(query, request_body))
            return _object_response(registry, target, stored)
        case "DELETE":
            return _object_response(
                registry,
                target,
                delete(registry, *where, _read_delete_options(query, request_body.body)),
            )
        case _:
            raise no_such_method()


def _handle_subresource(
    registry: Registry, method: str, target: Target, query: Query, request_body: RequestContent
) -> Response:
    where = target.resource, target.namespace_key, target.name
    how = msgspec.structs.replace(_write_options(query, request_body), status=True)
    match method, target.subresource:
        case "POST", "binding" if target.resource.key == PODS.key:
            bind_pod(registry, target.namespace_key, target.name, _read_object(request_body.body))
            return Response(201, msgspec.json.encode(_BOUND))
        case _, "status" if not target.resource.status:
            raise no_such_path()
        case "GET", "status":
            return _object_response(registry, target, registry.find(*where))
        case "PUT", "status":
            obj = _read_object(request_body.body)
            return _object_response(registry, target, registry.replace(*where, obj, how))
        case "PATCH", "status":
            stored = registry.patch(*where, request_body[:2], how)
            return _object_response(registry, target, stored)
        case _:
            raise no_such_path()


def _object_response(
    registry: Registry, target: Target, obj: Object, status: int = 200
) -> Response:
    shown_obj = obj if obj["kind"] == "Status" else registry.view(target.resource, obj)
    return Response(status, msgspec.json.encode(shown_obj))


def _list_body(registry: Registry, target: Target, query: Query) -> bytes:
    resource, state = target.resource, registry.state
    if version := query.get("resourceVersion", ""):
        _check_version(read_version(version), state.revision, query)
    limit, token = read_whole_number(query, "limit"), query.get("continue", "")
    page = registry.pages.next_page(token, limit, state.revision) if token else None
    page = page or registry.pages.first_page(
        state.revision, _selected_bodies(registry, target, query), limit
    )
    bodies = page.bodies
    if not resource.custom:  # the real server's lists name the kind of built-in items only once
        head = msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind})
        bodies = [b"{" + body[len(head) :] for body in bodies]
    frame = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
    metadata: Object = {"resourceVersion": str(page.revision)}
    metadata |= {"continue": page.token, "remainingItemCount": page.left} if page.token else {}
    frame_body = msgspec.json.encode({**frame, "metadata": metadata, "items": msgspec.Raw(b"[]")})
    return frame_body[:-2] + b",".join(bodies) + b"]}"


def _selected_bodies(registry: Registry, target: Target, query: Query) -> list[bytes]:
    resource, chosen = target.resource, selector(target.resource, query)
    every = registry.state.items(resource.key, target.namespace)
    return [registry.body(resource, obj) for obj in every if chosen(obj)]


def _check_version(version: int, current: int, query: Query) -> None:
    if version > current:
        raise too_large_version(version, current)
    if query.get("resourceVersionMatch") == "Exact" and version != current:
        raise expired(version, current)


def _delete_collection(registry: Registry, target: Target, query: Query, body: bytes) -> bytes:
    whole_list = {name: value for name, value in query.items() if name != "limit"}
    options, listing = _read_delete_options(query, body), _list_body(registry, target, whole_list)
    chosen = selector(target.resource, query)
    for obj in list(registry.state.items(target.resource.key, target.namespace)):
        if chosen(obj):
            metadata = obj["metadata"]
            where = metadata.get("namespace", ""), metadata["name"]
            delete(registry, target.resource, *where, options)
    return listing


def _write_options(query: Query, content: RequestContent) -> WriteOptions:
    dry = query.get("dryRun", "")
    if dry not in ("", "All"):
        raise bad_request(f"dryRun is All or nothing, not {dry}")
    strict = query.get("fieldValidation") == "Strict"
    return WriteOptions(dry=bool(dry), strict=strict, user=content.user)


def _read_object(body: bytes) -> Object:
    try:
        obj = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from error
    if not isinstance(obj, dict):
        raise bad_request("the object provided is unrecognized: it is no JSON object")
    return obj


def _read_delete_options(query: Query, body: bytes) -> DeleteOptions:
    try:
        options = msgspec.json.decode(body or b"{}", type=DeleteOptions)
        if options.dryRun:
            raise bad_request("the embedded server supports dryRun for creations only")
        grace = query.get("gracePeriodSeconds")
        return msgspec.structs.replace(
            options,
            propagationPolicy=query.get("propagationPolicy", options.propagationPolicy),
            gracePeriodSeconds=int(grace) if grace else options.gracePeriodSeconds,
        )
    except (msgspec.DecodeError, ValueError) as error:
        raise bad_request(f"delete options cannot be read: {error}") from error
