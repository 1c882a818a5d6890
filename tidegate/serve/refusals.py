"""Refusals as HTTP statuses: what is answered where there is no answer, as Kubernetes writes it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import typer

from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    LedgerUnreachableError,
    NotSupportedError,
    TidegateError,
    UnknownNameError,
)
from tidegate.urls import redacted

_REASONS = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.METHOD_NOT_ALLOWED: "MethodNotAllowed",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "RequestEntityTooLarge",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid",
    HTTPStatus.TOO_MANY_REQUESTS: "TooManyRequests",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
}


class RefusalError(TidegateError):
    """A request that is not answered; the message says why."""

    def __init__(self, status: int, message: str, retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.status, self.retry_after_s = status, retry_after_s

    def as_status(self) -> dict[str, Any]:
        """Return what is answered instead: a Status of Kubernetes, which kubectl prints."""
        reason = _REASONS.get(HTTPStatus(self.status), "InternalError")
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": redacted(str(self)),
            "reason": reason,
            "code": self.status,
        }


def refusal_of(error: Exception) -> RefusalError | None:
    """Return how an error of ours is answered; None: it is none of those that may be shown."""
    match error:
        case RefusalError():
            return error
        case typer.BadParameter():
            return RefusalError(HTTPStatus.BAD_REQUEST, error.format_message())
        case UnknownNameError():
            return RefusalError(HTTPStatus.NOT_FOUND, str(error))
        case NotSupportedError():
            return RefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        case LedgerUnreachableError():
            # Where the database is, and what it said, is the operator's: the log has it.
            message = "The ledger does not answer: try again."
            return RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=5)
        case ApiUnreachableError() | ApiStatusError():
            message = "The API server does not say who may see this: try again."
            return RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=5)
        case _:
            return None


@contextmanager
def refuse_invalid() -> Generator[None]:
    """Refuse a request with the sentence of our own error, where that says what is asked wrongly.

    Raises:
        RefusalError: a message of the body of this context, as 422.
    """
    try:
        yield
    except TidegateError as error:
        if refusal_of(error) is not None:
            raise
        raise RefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def forbidden_error(user: str, action: str) -> RefusalError:
    """Return the refusal for a user who lacks a right."""
    return RefusalError(HTTPStatus.FORBIDDEN, f"{user!r} may not {action}.")
