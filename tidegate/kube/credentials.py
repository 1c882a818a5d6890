"""Where an API server is, and how a client proves to it who it is.

In a pod, and with a URL, only files are read. The official client library is loaded for kubeconfigs
alone, whose exec plugins it knows: it takes 20 MiB and as much time as a service's own modules.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
from yaml import YAMLError

from tidegate.errors import NotSupportedError
from tidegate.urls import redacted

KUBECONFIG = "~/.kube/config"
"""Where a user's own kubeconfig is."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts a pod's token and the certificate authority of the API server."""
TOKEN_S = 60.0
"""After how long the token's file is read again: the kubelet renews it while the pod runs."""
UNREADABLE = (NotSupportedError, OSError, YAMLError, LookupError, TypeError, ValueError)
"""What absent and malformed credentials raise."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach an API server; the first of url, kubeconfig and in-cluster that is given."""

    url: str = ""  # e.g. http://127.0.0.1:8001; without TLS for loopback servers
    token: str = ""  # bearer token for ``url``
    ca_file: str = ""  # certificate authority for ``url``
    kubeconfig: str = ""  # path; empty: $KUBECONFIG, else in-cluster, else ~/.kube/config
    context: str = ""  # of the kubeconfig; empty: its current one
    document: Callable[[], Awaitable[dict[str, Any]]] | None = None  # a kubeconfig, as data
    service_account: Path = SERVICE_ACCOUNT  # of a pod
    impersonate: str = ""  # act as this user; needs the right to
    request_timeout_s: float = 30.0
    watch_slack_s: float = 5.0  # how long after its time a watch that says nothing is given up
    connections_max: int = 64
    answer_bytes_max: int = 0  # of a server that is not trusted; 0: any
    quick: bool = False  # small requests and watches of a trusted server over ``ConnectionPool``

    def __repr__(self) -> str:
        """Return it for a traceback: no token is in it."""
        where = redacted(self.url) or self.kubeconfig or "in the cluster"
        return f"Access({where}, context={self.context!r})"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """An API server, and what a client shows to it."""

    url: str
    tls: ssl.SSLContext
    authorization: Callable[[], Awaitable[str]]  # the header's value; empty: none
    proxy: str | None = None
    tls_server_name: str | None = None  # where the certificate bears another name than the URL


class _PodToken:
    """The token of a pod's service account, read again each minute."""

    def __init__(self, path: Path) -> None:
        self._path, self._header = path, _bearer_header(path.read_text())
        self._until_s = monotonic() + TOKEN_S

    async def header(self) -> str:
        """Return the header's value; a file that is away for a moment changes nothing."""
        if monotonic() >= self._until_s:
            try:
                self._header = _bearer_header(self._path.read_text())
            except (OSError, ValueError):
                return self._header
            self._until_s = monotonic() + TOKEN_S
        return self._header


async def find_server(access: Access) -> Server:
    """Return the API server that is meant.

    Raises:
        NotSupportedError: there is no way to one in ``access`` nor in the environment.
        Exception: one of ``UNREADABLE``: files are absent or malformed.
        ApiUnreachableError: ``document`` could not be read.
    """
    path = access.kubeconfig or os.environ.get("KUBECONFIG", "")
    if access.url:
        return _server_of_url(access)
    if access.document is None and not path and "KUBERNETES_SERVICE_HOST" in os.environ:
        return _server_in_cluster(access.service_account)
    return await _server_of_kubeconfig(access, path)


def _server_of_url(access: Access) -> Server:
    """Return the API server at a URL that was given."""
    header = _bearer_header(access.token) if access.token else ""
    authority = Path(access.ca_file).read_text() if access.ca_file else None

    async def authorization() -> str:
        return header

    tls = ssl.create_default_context(cadata=authority)
    return Server(url=access.url, tls=tls, authorization=authorization)


def _server_in_cluster(folder: Path) -> Server:
    """Return the API server of the cluster that this pod runs in."""
    host, port = (os.environ[f"KUBERNETES_SERVICE_{part}"] for part in ("HOST", "PORT"))
    bracketed = f"[{host}]" if ":" in host else host
    return Server(
        url=f"https://{bracketed}:{port}",
        tls=ssl.create_default_context(cadata=(folder / "ca.crt").read_text()),
        authorization=_PodToken(folder / "token").header,
    )


async def _server_of_kubeconfig(access: Access, path: str) -> Server:
    """Return the API server that a kubeconfig names, as the official client reads it."""
    paths = "" if access.document is not None else _existing_kubeconfigs(path or KUBECONFIG)
    try:
        from kubernetes.aio import config  # noqa: PLC0415 - see above
        from kubernetes.aio.client import Configuration  # noqa: PLC0415
        from kubernetes.aio.client.rest import RESTClientObject  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(f"{error}: pip install 'tidegate[all]'") from error
    # Without this the library hands out one shared, mutable default.
    configuration: Configuration = type.__call__(Configuration)
    try:
        if access.document is not None:
            await config.load_kube_config_from_dict(  # type: ignore[no-untyped-call]  # no types
                await access.document(), client_configuration=configuration
            )
        else:
            await config.load_kube_config(  # type: ignore[no-untyped-call]  # it ships no types
                config_file=paths,
                context=access.context or None,
                client_configuration=configuration,
                persist_config=False,
            )
    except config.ConfigException as error:
        raise NotSupportedError(str(error)) from error
    except RecursionError as error:
        raise NotSupportedError("the kubeconfig is nested too deeply") from error

    async def authorization() -> str:
        return await configuration.get_api_key_with_prefix("BearerToken") or ""

    return Server(
        url=configuration.host,
        tls=RESTClientObject(configuration).ssl_context,
        authorization=authorization,
        proxy=configuration.proxy,
        tls_server_name=configuration.tls_server_name,
    )


def _existing_kubeconfigs(paths: str) -> str:
    """Return the kubeconfigs that are named, as $KUBECONFIG lists them.

    The client library takes an absent one for an invalid one.

    Raises:
        FileNotFoundError: none of them is there.
    """
    if not any(Path(path).expanduser().exists() for path in paths.split(os.pathsep) if path):
        raise FileNotFoundError(f"there is no file {paths}")
    return paths


def _bearer_header(token: str) -> str:
    """Return the header's value for a token.

    Raises:
        ValueError: there is none, or it is more than one line.
    """
    stripped = token.strip()
    if not stripped or not stripped.isprintable():
        raise ValueError("the token is empty, or more than a line")
    return f"Bearer {stripped}"
