"""Answers of ``tidegate serve``, for users without a ledger: by URL or through the API server."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, NamedTuple
from urllib.parse import quote, urlencode

import typer

from tidegate.errors import ApiStatusError, ApiUnreachableError, NotSupportedError

ServerOption = Annotated[
    str,
    typer.Option(
        "--server",
        envvar="TIDEGATE_SERVER",
        help=(
            "Ask a `tidegate serve` at this URL, with the token in $TIDEGATE_TOKEN; "
            "default without a ledger: ask the cluster."
        ),
        show_default=False,
    ),
]
_AGGREGATED = "/apis/read.tidegate.dev/v1/namespaces/{namespace}/workloads/{name}/why"
_DIRECT = "/v1/workloads/{namespace}/{name}/why"


class WorkloadName(NamedTuple):
    """A workload as a server is asked for it."""

    namespace: str
    kind: str  # of its job; empty: any
    name: str


def parse_workload_name(text: str, namespace: str) -> WorkloadName:
    """Parse NAME, KIND/NAME, NAMESPACE/NAME or NAMESPACE/KIND/NAME.

    With a namespace the kind may be as kubectl writes it, too: ``job.batch``, ``jobs``.
    """
    from tidegate.jobs.registry import JOB_KINDS  # noqa: PLC0415 - a ledger needs none of it
    from tidegate.replay.names import type_and_group  # noqa: PLC0415 - see above

    parts = text.split("/")
    kinds = {kind.rpartition("/")[2] for kind in JOB_KINDS}
    name = parts.pop()
    kind = parts.pop() if parts and parts[-1] in kinds else ""
    if parts and not kind and (namespace or len(parts) > 1):
        word, _ = type_and_group(parts[-1])
        if word in kinds:
            parts.pop()
            kind = word
    space = namespace or (parts.pop() if parts else "")
    if parts or not space:
        raise typer.BadParameter(f"Add -n NAMESPACE for {text!r}: a server needs the namespace.")
    return WorkloadName(space, kind, name)


def fetch_why(server: str, subject: WorkloadName, query: Mapping[str, str]) -> bytes:
    """Return a server's answer to why: of this URL; empty: of the cluster's.

    Raises:
        ApiStatusError: it refused.
        ApiUnreachableError: it does not answer.
        NotSupportedError: there is no way to one, or a token would go unencrypted.
    """
    from tidegate.cli.objects.api_client import open_api  # noqa: PLC0415 - loads asyncio
    from tidegate.cli.objects.fetching import fetch  # noqa: PLC0415 - loads urllib

    requests = {name: value for name, value in {**query, "kind": subject.kind}.items() if value}
    places = {name: quote(value, safe="") for name, value in subject._asdict().items()}
    if server:
        return fetch(server.rstrip("/") + _DIRECT.format(**places) + "?" + urlencode(requests))
    with open_api() as api:
        return api.request_raw(_AGGREGATED.format(**places), requests)


def is_server_absent(error: Exception) -> bool:
    """Return whether a cluster has no server, rather than one that refuses."""
    if isinstance(error, ApiStatusError):
        gone = {HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE}
        return error.status in gone and "ledger" not in error.message
    return isinstance(error, ApiUnreachableError | NotSupportedError)
