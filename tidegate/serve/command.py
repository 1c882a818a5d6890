"""``tidegate serve``: answers over HTTP, read-only, for whoever may see them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegate.cli.ledger.reading import LedgerOption, ledger_url, open_reader
from tidegate.cli.output import say
from tidegate.errors import NotSupportedError
from tidegate.kube.client import Access, connect
from tidegate.kube.ports import KubernetesApi
from tidegate.serve.app import application, parts_of
from tidegate.serve.auth.callers import Callers
from tidegate.serve.auth.front_proxy import FrontProxy, read_front_proxy
from tidegate.serve.auth.pace import Pace
from tidegate.serve.auth.reviews import Reviews
from tidegate.serve.auth.rights import Rights
from tidegate.serve.server import Place, server
from tidegate.serve.visibility.routes import visibility_routes
from tidegate.service.logs import configure_logs

PORT, PER_S = 8484, 20.0


class Wanted(NamedTuple):
    """What the command was asked for."""

    ledger: str
    host: str
    port: int
    access: Access | None  # None: nobody is asked who they are
    audience: str
    certificate: str
    key: str
    visibility: bool
    per_s: float


def serve(  # noqa: PLR0913 - each is an option
    *,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 in a pod.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The port to listen on.")] = PORT,
    auth: Annotated[
        bool,
        typer.Option(
            "--auth",
            help="Ask the Kubernetes API server who asks and what they may; without it only "
            "this machine is answered, and may see everything.",
        ),
    ] = False,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Of that API server; else $KUBECONFIG, else the pod's own.")
    ] = None,
    audience: Annotated[
        str, typer.Option(help="Take only tokens that were made for this audience.")
    ] = "",
    tls_cert: Annotated[Path | None, typer.Option(help="Its certificate, in PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key, in PEM.")] = None,
    visibility: Annotated[
        bool,
        typer.Option(
            "--visibility",
            help="Answer as an aggregated API of the API server, too: Kueue's visibility API.",
        ),
    ] = False,
    rate: Annotated[
        float, typer.Option(min=0.1, help="So many requests a second, for each person.")
    ] = PER_S,
    ledger: LedgerOption = "",
) -> None:
    """Serve what the ledger says over HTTP, and a page for browsers; nothing can be changed.

    With --auth whoever may list Workloads of a namespace in Kubernetes may see them here, and
    nobody else; without it the server listens on loopback alone. See docs/serve.md.

    Examples:
      tidegate serve

      tidegate serve --auth --host 0.0.0.0 --tls-cert tls.crt --tls-key tls.key --visibility
    """
    if not auth and not _is_loopback(host):
        raise typer.BadParameter(
            f"--host {host} is open to others, and without --auth everybody may see everything: "
            "give --auth, or listen on 127.0.0.1."
        )
    if visibility and not (auth and tls_cert and tls_key):
        raise typer.BadParameter(
            "--visibility needs --auth, --tls-cert and --tls-key: the API server comes over TLS."
        )
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together.")
    if auth and tls_cert is None and not _is_loopback(host):
        raise typer.BadParameter("Tokens would go over the network unencrypted: give --tls-cert.")
    settings = Wanted(
        ledger=ledger_url(ledger),
        host=host,
        port=port,
        access=Access(kubeconfig=str(kubeconfig or "")) if auth else None,
        audience=audience,
        certificate=str(tls_cert or ""),
        key=str(tls_key or ""),
        visibility=visibility,
        per_s=rate,
    )
    with open_reader(settings.ledger, reports=False) as reader:  # a wrong one is refused at once
        if reader.database is None:
            raise NotSupportedError(f"{reader.url} is an archive: only a ledger is served.")
    configure_logs("serve", "auto", "info")
    asyncio.run(_run(settings))


async def _run(settings: Wanted) -> None:
    async with _api(settings) as api:
        proxy = await read_front_proxy(api) if api and settings.visibility else None
        reviews = Reviews(api, settings.audience) if api else None
        callers = Callers(reviews, proxy, Pace(settings.per_s))
        parts = parts_of(settings.ledger, callers, Rights(reviews))
        app = application(parts, visibility_routes(parts) if settings.visibility else ())
        scheme = "https" if settings.certificate else "http"
        say(f"The page: {scheme}://{settings.host}:{settings.port}/look/")
        await server(app, _place(settings, proxy)).serve()


def _place(settings: Wanted, proxy: FrontProxy | None) -> Place:
    return Place(
        host=settings.host,
        port=settings.port,
        certificate=settings.certificate,
        key=settings.key,
        authority=proxy.authority if proxy else "",
    )


@asynccontextmanager
async def _api(settings: Wanted) -> AsyncGenerator[KubernetesApi | None]:
    if settings.access is None:
        yield None
        return
    async with connect(settings.access) as api:
        yield api


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
