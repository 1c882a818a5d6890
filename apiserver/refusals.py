"""The answers of an API server that refuses, in the words of the real one.

Each becomes a ``Status`` object; clients read its ``reason`` and ``code``, people its message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from apiserver.resources import Resource
from tidegate.errors import TidegateError

Object = dict[str, Any]


class Cause(msgspec.Struct, frozen=True):
    """One field that is wrong, and how."""

    field: str  # such as spec.template.spec.containers[0].name
    reason: str  # such as FieldValueRequired
    message: str

    def __str__(self) -> str:
        """Return the cause as the real server prints it."""
        return f"{self.field}: {self.message}"


class RefusedError(TidegateError):
    """The embedded API server refuses a request."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def status(self) -> Object:
        """Return the Status object that a client gets."""
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status |= {"message": self.message, "reason": self.reason}
        return status | {"details": self.details or {}, "code": self.code}


def bad_request(message: str) -> RefusedError:
    """Return the refusal of what cannot be understood: 400."""
    return RefusedError(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str) -> RefusedError:
    """Return the refusal of what is understood and not allowed: 403."""
    message = f'{resource.key} "{name}" is forbidden: {why}'
    return RefusedError(403, "Forbidden", message, _details(resource, name))


def no_such_path() -> RefusedError:
    """Return the refusal of a path that leads nowhere: 404."""
    message = "the server could not find the requested resource"
    return RefusedError(404, "NotFound", message)


def not_found(resource: Resource, name: str) -> RefusedError:
    """Return the refusal of an object that is not there: 404."""
    message = f'{resource.key} "{name}" not found'
    return RefusedError(404, "NotFound", message, _details(resource, name))


def no_such_method() -> RefusedError:
    """Return the refusal of a verb that the path does not have: 405."""
    message = "the server does not allow this method on the requested resource"
    return RefusedError(405, "MethodNotAllowed", message)


def already_exists(resource: Resource, name: str) -> RefusedError:
    """Return the refusal of a second object of one name: 409."""
    message = f'{resource.key} "{name}" already exists'
    return RefusedError(409, "AlreadyExists", message, _details(resource, name))


def modified(resource: Resource, name: str) -> RefusedError:
    """Return the refusal of a write on an older version: 409."""
    why = "the object has been modified; please apply your changes to the latest version"
    return conflict(resource, name, f"{why} and try again")


def conflict(resource: Resource, name: str, why: str) -> RefusedError:
    """Return the refusal of a write whose precondition does not hold: 409."""
    message = f'Operation cannot be fulfilled on {resource.key} "{name}": {why}'
    return RefusedError(409, "Conflict", message, _details(resource, name))


def expired(version: int, oldest: int) -> RefusedError:
    """Return the refusal of a history that was forgotten: 410."""
    return RefusedError(410, "Expired", f"too old resource version: {version} ({oldest})")


def wrong_media_type(content_type: str) -> RefusedError:
    """Return the refusal of a body in a form that is not supported: 415."""
    message = f"415: Unsupported Media Type: {content_type}"
    return RefusedError(415, "UnsupportedMediaType", message)


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> RefusedError:
    """Return the refusal of an object whose fields are wrong: 422."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    words = ", ".join(map(str, causes))
    words = f"[{words}]" if len(causes) > 1 else words
    details = {"name": name, "group": resource.group, "kind": resource.kind}
    details |= {"causes": msgspec.to_builtins(causes)}
    return RefusedError(422, "Invalid", f'{kind} "{name}" is invalid: {words}', details)


def denied(resource: Resource, name: str, policy: str, why: str) -> RefusedError:
    """Return the refusal of a ValidatingAdmissionPolicy that is bound under its own name: 422."""
    denial = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {why}"
    message = f'{resource.key} "{name}" is forbidden: {denial}'
    return RefusedError(422, "Invalid", message, _details(resource, name))


def unprocessable() -> RefusedError:
    """Return the refusal of a JSON patch that cannot be applied: 422."""
    message = "the server rejected our request due to an error in our request"
    return RefusedError(422, "Invalid", message)


def too_large_version(version: int, current: int) -> RefusedError:
    """Return the refusal of a version from the future: 504."""
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return RefusedError(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1})


def required(field: str, why: str = "") -> Cause:
    """Return the cause of a field that is missing."""
    words = f"Required value: {why}" if why else "Required value"
    return Cause(field, "FieldValueRequired", words)


def invalid_value(field: str, value: object, why: str) -> Cause:
    """Return the cause of a value that is not allowed."""
    text = msgspec.json.encode(value).decode()
    return Cause(field, "FieldValueInvalid", f"Invalid value: {text}: {why}")


def unsupported(field: str, value: object, allowed: Sequence[object]) -> Cause:
    """Return the cause of a value that is none of the few that are allowed."""
    rendered, rest = msgspec.json.encode(value).decode(), [msgspec.json.encode(x) for x in allowed]
    words = ", ".join(text.decode() for text in rest)
    return Cause(
        field, "FieldValueNotSupported", f"Unsupported value: {rendered}: supported values: {words}"
    )


def not_allowed(field: str, why: str) -> Cause:
    """Return the cause of a field that may not be set or changed that way."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def immutable(field: str, value: object) -> Cause:
    """Return the cause of a field that may not change."""
    return invalid_value(field, value, "field is immutable")


def _details(resource: Resource, name: str) -> Object:
    return {"name": name, "group": resource.group, "kind": resource.plural}
