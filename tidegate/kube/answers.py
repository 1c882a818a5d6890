"""The error, Retry-After and continue token of an API server's response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus

import aiohttp
import msgspec

from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.ports import Response
from tidegate.kube.reading import read_body, read_lines
from tidegate.model.texts import parse_whole
from tidegate.urls import redacted

BUSY_S_MAX = 10.0
"""How long a server that is too busy may ask us to wait."""
_TEXT_MAX = 500
NO_ANSWER = (aiohttp.ClientError, TimeoutError, OSError)
"""What requests raise that get no answer."""


class _Status(msgspec.Struct, frozen=True):
    """The part of a Status object that a person reads."""

    message: str = ""


def status_message(body: bytes) -> str:
    """Return the sentence in an error answer: a Status object's message, else its text, a line."""
    try:
        return msgspec.json.decode(body, type=_Status).message[:_TEXT_MAX]
    except msgspec.DecodeError:
        return " ".join(body.decode(errors="replace").split())[:_TEXT_MAX]


def checked_body(answer: Response, *expected: int) -> bytes:
    """Return the body of an answer whose status is expected: by default any that is no error.

    Raises:
        ApiStatusError: the server refused.
    """
    if answer.status not in expected if expected else answer.status >= HTTPStatus.BAD_REQUEST:
        raise ApiStatusError(answer.status, status_message(answer.body))
    return answer.body


def retry_after_s(status: int, headers: Mapping[str, str]) -> float:
    """Return the seconds of an overloaded API server's Retry-After header; 0: it sent none."""
    if status != HTTPStatus.TOO_MANY_REQUESTS:
        return 0.0
    return min(float(parse_whole(headers.get("retry-after", "")) or 0), BUSY_S_MAX)


def refuse_redirect(status: int) -> None:
    """Raise on a redirect: where it leads may trust this process, and not the server that answered.

    Raises:
        ApiStatusError: it is a redirect.
    """
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise ApiStatusError(status, "redirects are not followed")


def unreachable_message(method: str, url: str, error: Exception) -> str:
    """Return what to say where no answer came."""
    reason = str(error) or type(error).__name__
    return redacted(f"{method} {url} got no answer: {reason}.")


def abort_response(answer: aiohttp.ClientResponse) -> None:
    """Abort a response: a TLS goodbye would wait for the server's, and may outlive the loop."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    answer.close()


async def watch_lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the lines of a watch's answer, as ``read_lines`` does.

    Raises:
        ApiUnreachableError: the connection broke.
        ApiStatusError: see ``read_lines``.
    """
    try:
        async for line in read_lines(answer.content):
            yield line
    except NO_ANSWER as error:
        raise ApiUnreachableError(unreachable_message("WATCH", str(answer.url), error)) from error


async def response_text(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """Return a watch's answer that is no watch, at most so many bytes; 0: any.

    Raises:
        ApiUnreachableError: the connection broke.
    """
    try:
        return await read_body(answer.content, 0, most)
    except NO_ANSWER as error:
        raise ApiUnreachableError(unreachable_message("WATCH", str(answer.url), error)) from error
