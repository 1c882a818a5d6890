"""The error, Retry-After and continue token of an API server's response."""

from __future__ import annotations

from http import HTTPStatus

import aiohttp
import msgspec

from tidegate.errors import ApiStatusError
from tidegate.model.numbers import whole

BUSY_S_MAX = 10.0
"""How long a server that is too busy may ask us to wait."""
_TEXT_MAX = 500


class _Status(msgspec.Struct, frozen=True):
    """The part of a Status object that a person reads."""

    message: str = ""


def status_message(body: bytes) -> str:
    """Return the sentence in an error answer: a Status object's message, else its text."""
    try:
        return msgspec.json.decode(body, type=_Status).message[:_TEXT_MAX]
    except msgspec.DecodeError:
        return body.decode(errors="replace").strip()[:_TEXT_MAX]


def asked_to_wait_s(answer: aiohttp.ClientResponse) -> float:
    """Return how long a server that is too busy asks us to stay away; 0: it does not."""
    if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
        return 0.0
    return min(float(whole(answer.headers.get("Retry-After", "")) or 0), BUSY_S_MAX)


def refuse_redirect(answer: aiohttp.ClientResponse) -> None:
    """Raise on a redirect: where it leads may trust this process, and not the server that answered.

    Raises:
        ApiStatusError: it is a redirect.
    """
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
        raise ApiStatusError(answer.status, "redirects are not followed")
