"""What a connection to NATS is made with: certificates that are trusted, no secret in a text."""

from __future__ import annotations

import re
import ssl

from tidegate.errors import BusUnreachableError

_PASSWORD = re.compile(r"(?<=:)[^:@/,]*(?=@)")
_TOKEN = re.compile(r"(?<=//)[^:@/,]*(?=@)")


def trusted(ca: str) -> ssl.SSLContext | None:
    """Return how servers' certificates are checked: against an authority's file, if one is given.

    Raises:
        BusUnreachableError: there is no such file, or it holds no certificate.
    """
    try:
        return ssl.create_default_context(cafile=ca) if ca else None
    except OSError as error:  # ssl.SSLError is one
        raise BusUnreachableError(f"The CA file {ca} cannot be read: {error}") from error


def shown(url: str) -> str:
    """Return the URLs of a bus for people: without passwords or tokens."""
    bare = _PASSWORD.sub("***", url)
    return bare if bare != url else _TOKEN.sub("***", url)
