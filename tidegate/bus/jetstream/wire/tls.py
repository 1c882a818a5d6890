"""The options of a connection to NATS: servers, credentials, trusted certificates."""

from __future__ import annotations

import ssl
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from tidegate.errors import BusUnreachableError
from tidegate.urls import Secret, is_readable, shown_url


class Login(NamedTuple):
    """Our credentials for NATS; None is not sent."""

    user: str | None = None
    password: str | None = None
    token: str | None = None


def trusted(ca: str) -> ssl.SSLContext | None:
    """Return how servers' certificates are checked: against an authority's file, if one is given.

    Raises:
        BusUnreachableError: there is no such file, or it holds no certificate.
    """
    try:
        return ssl.create_default_context(cafile=ca) if ca else None
    except OSError as error:  # ssl.SSLError is one
        raise BusUnreachableError(f"The CA file {ca} cannot be read: {error}") from error


def parted(url: str) -> tuple[list[str], Login]:
    """Return the servers of a URL without a login, and the login as options of a connection.

    As options they also go to servers that the cluster announces later without them.

    Raises:
        BusUnreachableError: a part of it cannot be read.
    """
    servers, login = list[str](), Login()
    for part in map(str.strip, url.split(",")):
        if not is_readable(part if "://" in part else f"nats://{part}"):
            raise BusUnreachableError(
                f"{shown_url(url)} is no URL of NATS: in a user and a password, reserved "
                "characters such as / ? # @ , and % stand as %XX."
            )
        split = urlsplit(part)
        user, _, place = split.netloc.rpartition("@")
        name, colon, password = (Secret(unquote(word)) for word in user.partition(":"))
        if user and login == Login():
            login = Login(user=name, password=password) if colon else Login(token=name)
        servers.append(urlunsplit(split._replace(netloc=place)))
    return servers, login
