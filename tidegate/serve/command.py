"""``tidegate serve``: answers over HTTP, read-only, for users with the rights."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import LedgerOption, ledger_url, open_reader
from tidegate.cli.output import print_message
from tidegate.cli.times import finite
from tidegate.errors import NotSupportedError, reason_of
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi
from tidegate.serve.app import create_application, open_services
from tidegate.serve.auth.authorities import read_authority
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.proxies import GROUPS, USER, FrontProxy, OidcProxy, read_front_proxy
from tidegate.serve.auth.reviews import AccessReviewer
from tidegate.serve.auth.rights import Rights
from tidegate.serve.ledger.memory import return_freed_memory
from tidegate.serve.server import ListenAddress, create_server, refuse_address_in_use
from tidegate.serve.visibility.routes import visibility_routes
from tidegate.service.logs import configure_logs
from tidegate.service.loop import tune_garbage_collection

PORT, PER_S = 8484, 20.0


class ServeOptions(NamedTuple):
    """The options of the command."""

    ledger: str
    host: str
    port: int
    access: Access | None  # None: callers are not authenticated
    audience: str
    certificate: str
    key: str
    visibility: bool
    per_s: float
    oidc_proxy: OidcProxy | None = None
    partition: int | None = None  # of it alone; None: all


def serve(  # noqa: PLR0913 - each is an option
    *,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 in a pod.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The port to listen on.")] = PORT,
    auth: Annotated[
        bool,
        typer.Option(
            "--auth",
            help=(
                "Let the Kubernetes API server authenticate and authorize users; without"
                " it, only this machine has access, to everything."
            ),
        ),
    ] = False,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="The kubeconfig of that API server; default: $KUBECONFIG, else the pod's own."
        ),
    ] = None,
    audience: Annotated[str, typer.Option(help="Accept only tokens for this audience.")] = "",
    tls_cert: Annotated[Path | None, typer.Option(help="The server's certificate, in PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key, in PEM.")] = None,
    visibility: Annotated[
        bool,
        typer.Option(
            "--visibility",
            help="Also serve Kueue's visibility API, as an aggregated API of the API server.",
        ),
    ] = False,
    proxy_ca: Annotated[
        Path | None,
        typer.Option(
            help="Accept user headers from a proxy with a client certificate of this CA, in PEM."
        ),
    ] = None,
    proxy_name: Annotated[
        list[str] | None, typer.Option(help="The common name of that proxy's certificate.")
    ] = None,
    proxy_user_header: Annotated[
        str, typer.Option(help="The proxy's header with the user's name.")
    ] = USER,
    proxy_groups_header: Annotated[
        str, typer.Option(help="The proxy's header with the user's groups, separated by commas.")
    ] = GROUPS,
    proxy_prefix: Annotated[
        str,
        typer.Option(help="The prefix for both, like the API server's --oidc-username-prefix."),
    ] = "",
    rate: Annotated[
        float,
        typer.Option(
            min=0.1, callback=finite, help="The allowed requests per second of each user."
        ),
    ] = PER_S,
    partition: PartitionOption = None,
    ledger: LedgerOption = "",
) -> None:
    """Serve the ledger's state and history over HTTP, read-only, with a web page.

    With --auth only users who may list Workloads of a namespace in Kubernetes may see them here;
    without it the server listens on loopback alone. See docs/serve.md. All partitions are shown as
    one history; with --partition one of them.

    Examples:
      tidegate serve

      tidegate serve --auth --host 0.0.0.0 --tls-cert tls.crt --tls-key tls.key --visibility
    """
    _check(host, auth=auth, visibility=visibility, certificate=tls_cert, key=tls_key)
    oidc_proxy = None
    if proxy_ca is not None:
        is_known = auth and tls_cert is not None and bool(proxy_name) and not visibility
        headers = proxy_user_header.lower(), proxy_groups_header.lower()
        oidc_proxy = _oidc_proxy(proxy_ca, proxy_name or [], headers, proxy_prefix, is_known)
    if tls_cert and tls_key:
        _check_key_pair(tls_cert, tls_key)
    options = ServeOptions(
        ledger=ledger_url(ledger),
        host=host,
        port=port,
        access=Access(kubeconfig=str(kubeconfig or "")) if auth else None,
        audience=audience,
        certificate=str(tls_cert or ""),
        key=str(tls_key or ""),
        visibility=visibility,
        per_s=rate,
        oidc_proxy=oidc_proxy,
        partition=partition,
    )
    _refuse_unserved(options.ledger, partition)
    refuse_address_in_use(host, port)
    configure_logs("serve", "auto", "info")
    tune_garbage_collection()
    asyncio.run(_run(options))


def _refuse_unserved(ledger: str, partition: int | None) -> None:
    """Refuse a wrong ledger or partition at once."""
    with open_reader(ledger, partition=partition, reports=False) as reader:
        if reader.database is None:
            raise NotSupportedError(f"{reader.url} is an archive: only a ledger is served.")


def _check(
    host: str, *, auth: bool, visibility: bool, certificate: Path | None, key: Path | None
) -> None:
    """Refuse options that expose data to unauthenticated users, or tokens in plain text."""
    if not auth and not _is_loopback(host):
        raise typer.BadParameter(
            f"--host {host} is open to others, and without --auth every caller may see everything: "
            "give --auth, or listen on 127.0.0.1."
        )
    if visibility and not (auth and certificate and key):
        raise typer.BadParameter(
            "--visibility needs --auth, --tls-cert and --tls-key: the API server comes over TLS."
        )
    if (certificate is None) != (key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together.")
    if auth and certificate is None and not _is_loopback(host):
        raise typer.BadParameter("Tokens would go over the network unencrypted: give --tls-cert.")


def _check_key_pair(certificate: Path, key: Path) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:  # ssl.SSLError is one
        raise typer.BadParameter(
            f"--tls-cert {certificate} and --tls-key {key} cannot be used ({reason_of(error)}):"
            " give a certificate and its key, in PEM."
        ) from error


async def _run(options: ServeOptions) -> None:
    async with _kubernetes_api(options) as api:
        proxy: FrontProxy | OidcProxy | None = options.oidc_proxy
        if api and options.visibility:
            proxy = await read_front_proxy(api)
        reviews = AccessReviewer(api, options.audience) if api else None
        callers = Authenticator(reviews, proxy, RateLimiter(options.per_s))
        parts = open_services(options.ledger, callers, Rights(reviews), options.partition)
        app = create_application(parts, visibility_routes(parts) if options.visibility else ())
        scheme = "https" if options.certificate else "http"
        print_message(f"The page: {scheme}://{options.host}:{options.port}/look/")
        tune_garbage_collection()
        return_freed_memory()
        await create_server(app, _listen_address(options, proxy)).serve()


def _listen_address(options: ServeOptions, proxy: FrontProxy | OidcProxy | None) -> ListenAddress:
    return ListenAddress(
        host=options.host,
        port=options.port,
        certificate=options.certificate,
        key=options.key,
        authority=proxy.authority if proxy else "",
    )


@asynccontextmanager
async def _kubernetes_api(options: ServeOptions) -> AsyncGenerator[KubernetesApi | None]:
    if options.access is None:
        yield None
        return
    async with connect(options.access) as api:
        yield api


def _oidc_proxy(
    authority: Path,
    names: list[str],
    headers: tuple[str, str],
    prefix: str,
    is_known: bool,  # noqa: FBT001 - said once, above
) -> OidcProxy:
    if not is_known:
        raise typer.BadParameter(
            "--proxy-ca needs --auth, --tls-cert, --tls-key and --proxy-name, and does not go "
            "with --visibility: clients of two CAs cannot be distinguished. Run two servers."
        )
    user_header, groups_header = headers
    return OidcProxy(
        authority=read_authority(authority, "--proxy-ca"),
        names=tuple(names),
        user_header=user_header,
        groups_header=groups_header,
        prefix=prefix,
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
