"""Options that say how NATS is joined: the same variables as the services' settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple, TypeAlias

import typer


class NatsOptions(NamedTuple):
    """The options of a connection to NATS beside its URL."""

    cluster: str = "local"
    credentials: str = ""  # path of a NATS credentials file
    ca: str = ""  # path of the CA of NATS' certificate


def nats_options(cluster: str, credentials: Path | None, ca: Path | None) -> NatsOptions:
    """Return the values of the three options."""
    return NatsOptions(cluster, str(credentials or ""), str(ca or ""))


ClusterOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--cluster", envvar="TIDEGATE_CLUSTER", help="The cluster's name in streams and subjects."
    ),
]
BusCredentialsOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--bus-credentials",
        envvar="TIDEGATE_NATS_CREDENTIALS",
        exists=True,
        dir_okay=False,
        help="A NATS credentials file.",
    ),
]
BusCaOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--bus-ca",
        envvar="TIDEGATE_NATS_CA",
        exists=True,
        dir_okay=False,
        help="The CA that signed NATS' certificate; default: the system's own.",
    ),
]
