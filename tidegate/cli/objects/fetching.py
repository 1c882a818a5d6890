"""One request to a `tidegate serve`, with a token that goes nowhere else."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from tidegate.errors import ApiStatusError, ApiUnreachableError, NotSupportedError
from tidegate.kube.answers import status_message
from tidegate.urls import is_readable

TOKEN = "TIDEGATE_TOKEN"  # noqa: S105 - a variable's name
ANSWER_S, ANSWER_BYTES_MAX = 60, 64 * 2**20
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}

_NO_URL = "A server's URL begins with https://, or http://127.0.0.1."


def fetch(url: str) -> bytes:
    """Return a server's answer.

    Raises:
        ApiStatusError: it refused.
        ApiUnreachableError: it does not answer.
        NotSupportedError: the URL is none of a server, or a token would go unencrypted.
    """
    try:
        place = urlsplit(url)
    except ValueError as error:  # the address in brackets is none
        raise NotSupportedError(_NO_URL) from error
    token = os.environ.get(TOKEN, "").strip()
    if not token.isprintable():
        raise NotSupportedError(f"{TOKEN} holds more than one line: give the token alone.")
    if place.scheme not in {"http", "https"}:
        raise NotSupportedError(_NO_URL)
    if not is_readable(url) or "@" in place.netloc:
        raise NotSupportedError(
            f"A server's URL has neither user nor password in it: a token stands in ${TOKEN}."
        )
    if token and place.scheme == "http" and place.hostname not in _LOOPBACK:
        raise NotSupportedError(f"{TOKEN} would go unencrypted to {place.hostname}: use https://.")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - one of both schemes
    try:
        with urllib.request.build_opener(_RefuseRedirects).open(
            request, timeout=ANSWER_S
        ) as answer:
            content: bytes = answer.read(ANSWER_BYTES_MAX)
            return content
    except urllib.error.HTTPError as error:
        with error:
            raise ApiStatusError(error.code, status_message(error.read(2**20))) from error
    except OSError as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ApiUnreachableError(
            f"{place.scheme}://{place.netloc} got no answer: {reason}"
        ) from error


class _RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: the token is meant for one server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - as urllib has it
        """Refuse."""
