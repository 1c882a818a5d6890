"""What a connection to NATS is made with: servers, who we are, certificates that are trusted."""

from __future__ import annotations

import ssl
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from tidegate.errors import BusUnreachableError


class Login(NamedTuple):
    """Who we are to NATS; None is not told."""

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

    As options it also goes to servers that the cluster tells of later, which bear none.
    """
    servers, login = list[str](), Login()
    for one in (urlsplit(part.strip()) for part in url.split(",")):
        user, _, place = one.netloc.rpartition("@")
        name, colon, password = user.partition(":")
        if user and login == Login():
            login = Login(user=name, password=password) if colon else Login(token=name)
        servers.append(urlunsplit(one._replace(netloc=place)))
    return servers, login
