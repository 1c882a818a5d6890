"""Answers of ``tidegate serve``, for who has no ledger: of a URL, or through the API server."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import typer

from tidegate.cli.objects.api_client import open_api
from tidegate.errors import ApiStatusError, ApiUnreachableError, NotSupportedError
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kube.answers import status_message

ServerOption = Annotated[
    str,
    typer.Option(
        "--server",
        envvar="TIDEGATE_SERVER",
        help="Ask a `tidegate serve` at this URL, with the token in $TIDEGATE_TOKEN; without it, "
        "and without a ledger, the cluster is asked.",
        show_default=False,
    ),
]
TOKEN = "TIDEGATE_TOKEN"  # noqa: S105 - a variable's name
ANSWER_S, ANSWER_BYTES_MAX = 60, 64 * 2**20
_AGGREGATED = "/apis/read.tidegate.dev/v1/namespaces/{namespace}/workloads/{name}/why"
_DIRECT = "/v1/workloads/{namespace}/{name}/why"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Named(NamedTuple):
    """A workload as a server is asked for it."""

    namespace: str
    kind: str  # of its job; empty: any
    name: str


def named(text: str, namespace: str) -> Named:
    """Return what a text means: NAME, KIND/NAME, NAMESPACE/NAME or NAMESPACE/KIND/NAME.

    Raises:
        BadParameter: it does not say in which namespace, and a server is asked of one.
    """
    parts = text.split("/")
    kinds = {kind.rpartition("/")[2] for kind in JOB_KINDS}
    name = parts.pop()
    kind = parts.pop() if parts and parts[-1] in kinds else ""
    space = namespace or (parts.pop() if parts else "")
    if parts or not space:
        raise typer.BadParameter(
            f"{text!r} does not say in which namespace: add -n NAMESPACE, which a server asks for."
        )
    return Named(space, kind, name)


def why_of(server: str, wanted: Named, query: Mapping[str, str]) -> bytes:
    """Return a server's answer to why: of this URL; empty: of the cluster's.

    Raises:
        ApiStatusError: it refused.
        ApiUnreachableError: it does not answer.
        NotSupportedError: there is no way to one, or a token would go unencrypted.
    """
    asked = {name: value for name, value in {**query, "kind": wanted.kind}.items() if value}
    places = {name: quote(value, safe="") for name, value in wanted._asdict().items()}
    if server:
        return _fetched(server.rstrip("/") + _DIRECT.format(**places) + "?" + urlencode(asked))
    with open_api() as api:
        return api.raw(_AGGREGATED.format(**places), asked)


def _fetched(url: str) -> bytes:
    place = urlsplit(url)
    token = os.environ.get(TOKEN, "")
    if place.scheme not in {"http", "https"}:
        raise NotSupportedError("A server's URL begins with https://, or http://127.0.0.1.")
    if token and place.scheme == "http" and place.hostname not in _LOOPBACK:
        raise NotSupportedError(f"{TOKEN} would go unencrypted to {place.hostname}: use https://.")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - one of both schemes
    try:
        with urllib.request.build_opener(_Straight).open(request, timeout=ANSWER_S) as answer:
            found: bytes = answer.read(ANSWER_BYTES_MAX)
            return found
    except urllib.error.HTTPError as error:
        with error:
            raise ApiStatusError(error.code, status_message(error.read(2**20))) from error
    except OSError as error:
        raise ApiUnreachableError(
            f"{place.scheme}://{place.netloc} got no answer: {error}"
        ) from error


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: the token is meant for one server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - as urllib has it
        """Refuse."""


def is_absent(error: Exception) -> bool:
    """Tell whether a cluster has no server, rather than one that refuses."""
    if isinstance(error, ApiStatusError):
        gone = {HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE}
        return error.status in gone and "ledger" not in error.message
    return isinstance(error, ApiUnreachableError | NotSupportedError)
