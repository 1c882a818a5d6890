"""Certificates of authorities, as options name them."""

from __future__ import annotations

import ssl
from pathlib import Path

import typer

from tidegate.errors import reason_of


def read_authority(path: Path, option: str) -> str:
    """Return the certificates of a file in PEM.

    Raises:
        BadParameter: it cannot be read, or holds none; the message names ``option``.
    """
    try:
        authority = path.read_text(encoding="utf-8")
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=authority)
    except (OSError, ValueError) as error:  # ssl.SSLError is one; ValueError: it is no text
        raise typer.BadParameter(
            f"{option} {path} is no certificate in PEM: {reason_of(error)}."
        ) from error
    return authority
