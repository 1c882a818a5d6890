"""``tidegate notify``: send webhooks for admissions, preemptions and long waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tidegate.cli.instance import state_folder
from tidegate.cli.nats_options import BusCaOption, BusCredentialsOption, ClusterOption
from tidegate.cli.output import json_line
from tidegate.cli.times import finite
from tidegate.errors import NotSupportedError

if TYPE_CHECKING:
    from tidegate.notify.configuration import Receiver
    from tidegate.notify.receivers import NoticeSender
    from tidegate.notify.rules import Notice

_DAY_S = 86_400.0
_FOLDER = "notify"


def notify(  # noqa: PLR0913 - each is an option
    config: Annotated[Path, typer.Option(help="The file of receivers and rules.")],
    *,
    bus: Annotated[
        str,
        typer.Option(envvar="TIDEGATE_NATS_URL", help="The nats:// URL of the stream EVENTS."),
    ] = "nats://127.0.0.1:4222",
    ledger: Annotated[
        str,
        typer.Option(help="The ledger, from which events are read that EVENTS no longer has."),
    ] = "",
    state: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the positions; default: notify in the folder of the instance."
        ),
    ] = None,
    since: Annotated[
        int,
        typer.Option(help="The first seq for a receiver without a position; 0: now.", min=0),
    ] = 0,
    give_up_s: Annotated[
        float,
        typer.Option(
            help="Seconds after which a notice that its receiver does not accept is dropped.",
            callback=finite,
        ),
    ] = _DAY_S,
    check: Annotated[bool, typer.Option("--check", help="Only check the file.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print notices without sending them or saving positions."),
    ] = False,
    cluster: ClusterOption = "local",
    bus_credentials: BusCredentialsOption = None,
    bus_ca: BusCaOption = None,
) -> None:
    """Send notices about workloads to webhooks, as CloudEvents or Slack messages.

    Each receiver has its own position: a restart continues from it, and a receiver that is down
    does not delay the others. A notice that is sent again has the same key.

    Examples:
      tidegate notify --config notify.yaml --check

      tidegate notify --config notify.yaml --dry-run

      tidegate notify --config notify.yaml --bus nats://nats.tidegate:4222 --state /var/lib/notify
    """
    try:
        from tidegate.notify import configuration, receivers  # noqa: PLC0415 - loads aiohttp
        from tidegate.notify.webhook import open_webhook  # noqa: PLC0415
        from tidegate.service.logs import configure_logs  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation sends no notices ({error}): pip install 'tidegate[notify]'."
        ) from error
    read = configuration.read_configuration(config)
    if check:
        typer.echo(f"{config} is valid; receivers: {len(read.receivers)}.")
        return

    def webhook(receiver: Receiver) -> AbstractAsyncContextManager[NoticeSender]:
        return open_webhook(receiver, f"/tidegate/{cluster}", give_up_s)

    source = receivers.Source(
        bus=bus,
        ledger=ledger,
        cluster=cluster,
        credentials=str(bus_credentials or ""),
        ca=str(bus_ca or ""),
    )
    configure_logs("notify")
    if dry_run:
        with TemporaryDirectory() as nowhere:
            asyncio.run(
                receivers.serve_receivers(read, source, Path(nowhere), _open_printer, since)
            )
        return
    folder = state or state_folder() / _FOLDER
    asyncio.run(receivers.serve_receivers(read, source, folder, webhook, since))


class _PrintingSender:
    """A dry run's receiver: standard output."""

    def __init__(self, receiver: str) -> None:
        self._receiver = receiver

    async def send(self, notice: Notice) -> bool:
        """Print it."""
        typer.echo(json_line({"receiver": self._receiver, **msgspec.to_builtins(notice)}))
        return True


@asynccontextmanager
async def _open_printer(receiver: Receiver) -> AsyncGenerator[NoticeSender]:
    yield _PrintingSender(receiver.name)
