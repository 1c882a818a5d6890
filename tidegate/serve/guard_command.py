"""``tidegate guard``: register the aggregated APIs while a server answers for them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
import yaml

from tidegate.errors import SettingsError
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.serve.visibility.guard import (
    ApiServiceRegistrar,
    is_answering,
    run_registrar,
    with_ca_bundle,
)
from tidegate.service.logs import configure_logs


def guarding(
    services: Annotated[Path, typer.Option(help="The APIServices to register, in YAML.")],
    ca: Annotated[Path, typer.Option(help="The CA of the server's certificate, in PEM.")],
    url: Annotated[
        str, typer.Option(help="The URL of the server.")
    ] = "https://tidegate-serve.tidegate-system.svc",
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="The kubeconfig of the API server; default: $KUBECONFIG, else the pod's own."
        ),
    ] = None,
) -> None:
    """Register Kueue's visibility API while a server answers for it, and unregister it otherwise.

    While a registered API does not answer, Kubernetes cannot finish deleting any namespace. guard
    asks the server every three seconds, and unregisters the APIs after the third failure. See
    docs/serve.md.

    Example:
      tidegate guard --services services.yaml --ca ca.crt
    """
    try:
        listed = [manifest for manifest in yaml.safe_load_all(services.read_text()) if manifest]
        authority = ca.read_text()
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{services} or {ca} cannot be read: {error}") from error
    configure_logs("guard", "auto", "info")
    access = Access(kubeconfig=str(kubeconfig or ""))
    asyncio.run(_run(access, with_ca_bundle(listed, authority), url.rstrip("/"), authority))


async def _run(access: Access, services: list[dict[str, object]], url: str, ca: str) -> None:
    async with connect(access) as api:
        await run_registrar(ApiServiceRegistrar(api, services, lambda: is_answering(url, ca)))
