"""``tidegate webhook``: mutates jobs and queues where Kubernetes has no mutating policies yet."""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import typer
import uvicorn
from starlette.applications import Starlette

from tidegate.cli.commands.manifests import manifests_of_file as wanted_manifests
from tidegate.cli.output import print_message
from tidegate.kinds.policies.webhooks import NAMESPACE, WEBHOOK, by_path, webhook_configuration
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi
from tidegate.service.http.bounded_protocol import BoundedProtocol
from tidegate.service.logs import configure_logs, get_log
from tidegate.webhook.app import Webhook
from tidegate.webhook.certificate_store import CertificateStore, ManagedObjects
from tidegate.webhook.certificates import CERTIFICATE, KEY
from tidegate.webhook.mutating import Policy, compile_policies
from tidegate.webhook.params import Params

CONNECTIONS_MAX = 500
PORT, RENEW_S, AGAIN_S, DRAIN_S, IDLE_S = 9443, 10.0, 1.0, 5, 30


Policies = dict[str, tuple[Policy, ...]]


class ServeOptions(NamedTuple):
    """Where the webhook listens, and what it keeps."""

    host: str
    port: int
    owned: ManagedObjects
    given: tuple[Path, Path] | None  # certificate and key that others keep


class TlsIdentity:
    """The certificate for new connections; later connections get the renewed certificate."""

    def __init__(self, api: KubernetesApi, place: ServeOptions) -> None:
        """Answer with nothing until ``renew`` was called."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._given = place.given
        self._upkeep = CertificateStore(api, place.owned, partial(datetime.now, UTC))

    async def renew(self) -> None:
        """Load the certificate that is in force.

        Raises:
            ApiStatusError: the API server refuses what keeping the certificate takes.
            ApiUnreachableError: it does not answer.
            OSError: a file cannot be read.
        """
        if self._given is not None:
            self._load(*self._given)
            return
        files = await self._upkeep.current_files()
        with TemporaryDirectory() as folder:  # the library loads keys from files only
            paths = Path(folder, CERTIFICATE), Path(folder, KEY)
            for path in paths:
                path.touch(mode=0o600)
                path.write_bytes(files[path.name])
            self._load(*paths)

    def _load(self, certificate: Path, key: Path) -> None:
        """Load a certificate and key if they belong together; else keep the previous pair."""
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        self.context.load_cert_chain(certificate, key)


def webhook(  # noqa: PLR0913 - each is an option
    *,
    config: Annotated[
        str, typer.Option("--config", help="Kueue's Configuration file.", metavar="FILE")
    ] = "",
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 in a pod.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The port to listen on.")] = PORT,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="The kubeconfig of the API server; default: $KUBECONFIG, else the pod's own."
        ),
    ] = None,
    namespace: Annotated[
        str, typer.Option(help="The namespace of its Service and Secret.")
    ] = NAMESPACE,
    name: Annotated[
        str, typer.Option(help="The name of its Service, Secret and webhook configuration.")
    ] = WEBHOOK,
    certify: Annotated[
        list[str] | None,
        typer.Option(help="Another host name or address for the certificate; may be repeated."),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(help="Your own certificate in PEM, for example from cert-manager."),
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="That certificate's key, in PEM.")] = None,
) -> None:
    """Answer the API server's AdmissionReviews like the mutating admission policies.

    The webhook is for Kubernetes 1.30 to 1.35, which has no MutatingAdmissionPolicy: it evaluates
    the expressions of the policies itself. Without --tls-cert it creates a certificate, stores it
    in the Secret tidegate-webhook and writes its CA into the webhook configuration. See
    docs/operations.md.

    Examples:
      tidegate webhook --config kueue.yaml --host 0.0.0.0

      tidegate webhook --tls-cert tls.crt --tls-key tls.key
    """
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together.")
    manifests = wanted_manifests(config)
    policies = {
        path: compile_policies(policy_manifests, manifests)
        for path, policy_manifests in by_path(manifests).items()
    }
    configure_logs("webhook", "auto", "info")
    service = f"{name}.{namespace}.svc"
    names = [service, f"{service}.cluster.local", *(certify or ())]
    key_pair = (tls_cert, tls_key) if tls_cert and tls_key else None
    access = Access(kubeconfig=str(kubeconfig or ""))
    owned = ManagedObjects(names, webhook_configuration(manifests)["webhooks"], namespace, name)
    asyncio.run(_run(policies, access, ServeOptions(host, port, owned, key_pair)))


async def _run(policies: Policies, access: Access, place: ServeOptions) -> None:
    async with connect(access) as api:
        app = Webhook(policies, Params(api, time.monotonic).find).application()
        identity = TlsIdentity(api, place)
        while not await _try_renew(identity):  # noqa: ASYNC110 - no event signals it
            await asyncio.sleep(AGAIN_S)
        renewing = asyncio.create_task(_renew_forever(identity))
        print_message(f"Serving the webhook at https://{place.host}:{place.port}")
        try:
            await _server(app, place, identity.context).serve()
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing


async def _renew_forever(identity: TlsIdentity) -> None:
    """Renew for ever; what fails now is tried again, and what is in force serves on."""
    while True:
        await asyncio.sleep(RENEW_S)
        await _try_renew(identity)


async def _try_renew(identity: TlsIdentity) -> bool:
    try:
        await identity.renew()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
        get_log("certificates").warning("the certificate cannot be renewed now", why=str(error))
        return False
    return True


def _server(app: Starlette, place: ServeOptions, context: ssl.SSLContext) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=place.host,
            port=place.port,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS_MAX,
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=DRAIN_S,
            ssl_context_factory=lambda _config, _default: context,
        )
    )
