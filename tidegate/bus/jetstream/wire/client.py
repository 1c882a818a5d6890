"""The client of NATS, with what costs most of its time done in a shorter way, and its options."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.protocol.parser import PERMISSIONS_ERR

from tidegate.bus.headers import header_block, parse_header_block
from tidegate.errors import BusUnreachableError
from tidegate.urls import Secret, is_readable, redacted_url

_SCHEMES = frozenset({"nats", "tls", "ws", "wss"})

Take: TypeAlias = Callable[[Msg], None]


class QuickClient(Client):
    """nats-py's client where its time goes: the headers of each event, and its way to a reader.

    The methods are the library's own by another way: without them it works, only slower.
    """

    def __init__(self) -> None:
        super().__init__()
        self._handlers = dict[int, Take]()  # by the id of a subscription

    async def subscribe_directly(self, subject: str, handler: Take) -> Subscription:
        """Subscribe, and have each message handed over as it is read: no queue, no task.

        What ``handler`` raises goes to the client's ``error_cb``, and the next message is taken:
        past here it would end the reading of the connection.
        """
        subscription = await self.subscribe(subject)
        sid = next(sid for sid, each in self._subs.items() if each is subscription)
        self._handlers = {of: taker for of, taker in self._handlers.items() if of in self._subs}
        self._handlers[sid] = handler
        return subscription

    async def _process_err(self, err_msg: str) -> None:
        """Connect again after whatever the server says before it closes a connection.

        The library gives the client up for good. A right that lacks closes nothing.
        """
        if PERMISSIONS_ERR in err_msg:
            await super()._process_err(err_msg)
            return
        message = err_msg.strip("'")
        self._err = nats.errors.Error(f"nats: {message}")
        await self._error_cb(self._err)
        await self._process_op_err(self._err)

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        take = self._handlers.get(sid)
        if take is None or sid not in self._subs:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        read = await self._process_headers(headers)
        try:
            take(Msg(self, subject.decode(), reply.decode(), data, read))
        except Exception as error:  # noqa: BLE001 - as the library does with a callback's
            await self._error_cb(error)

    async def _send_publish(
        self,
        subject: str,
        reply: str,
        payload: bytes,
        payload_size: int,
        headers: dict[str, Any] | None,
    ) -> None:
        block = header_block(headers) if headers and subject else None
        if block is None:
            await super()._send_publish(subject, reply, payload, payload_size, headers)
            return
        head = f"HPUB {subject} {reply} {len(block)} {len(block) + payload_size}\r\n".encode()
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += payload_size
        await self._send_command(b"".join((head, block, payload, b"\r\n")))
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        return parse_header_block(raw)


class Login(NamedTuple):
    """Our credentials for NATS; None is not sent."""

    user: str | None = None
    password: str | None = None
    token: str | None = None


def tls_context(ca: str) -> ssl.SSLContext | None:
    """Return how servers' certificates are checked: against an authority's file, if one is given.

    Raises:
        BusUnreachableError: there is no such file, or it holds no certificate.
    """
    try:
        return ssl.create_default_context(cafile=ca) if ca else None
    except OSError as error:  # ssl.SSLError is one
        raise BusUnreachableError(f"The CA file {ca} cannot be read: {error}") from error


def split_login(url: str) -> tuple[list[str], Login]:
    """Return the servers of a URL without a login, and the login as options of a connection.

    As options they also go to servers that the cluster announces later without them.

    Raises:
        BusUnreachableError: a part of it cannot be read.
    """
    servers, login = list[str](), Login()
    for written in map(str.strip, url.split(",")):
        part = written if "://" in written else f"nats://{written}"
        if not is_readable(part):
            raise BusUnreachableError(
                f"{redacted_url(url)} is no URL of NATS: in a user and a password, reserved "
                "characters such as / ? # @ , and % stand as %XX."
            )
        if not _is_server(part):
            raise BusUnreachableError(
                f"{redacted_url(url)} is no URL of NATS: write one such as nats://HOST:4222."
            )
        split = urlsplit(part)
        user, _, place = split.netloc.rpartition("@")
        name, colon, password = (Secret(unquote(word)) for word in user.partition(":"))
        if user and login == Login():
            login = Login(user=name, password=password) if colon else Login(token=name)
        servers.append(urlunsplit(split._replace(netloc=place)))
    return servers, login


def _is_server(url: str) -> bool:
    try:
        split = urlsplit(url)
        return split.scheme in _SCHEMES and bool(split.hostname) and split.port != 0
    except ValueError:  # the port is no number up to 65535, or the address in brackets is none
        return False
