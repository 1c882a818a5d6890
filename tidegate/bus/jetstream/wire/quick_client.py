"""The client of NATS, with what costs most of its time done in a shorter way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.protocol.parser import PERMISSIONS_ERR

from tidegate.bus.headers import VERSION, header_block, headers_of
from tidegate.bus.jetstream.wire.quick_parser import QuickParser

Take: TypeAlias = Callable[[Msg], None]
_VERSION = VERSION.encode()
_SUBJECT = re.compile(r"\S+")
Sent: TypeAlias = tuple[str, bytes, Mapping[str, str]]
"""Subject, payload and headers of a message."""


class QuickClient(Client):
    """nats-py's client where its time goes: the headers of each event, and its way to a reader.

    The methods are the library's own by another way: without them it works, only slower.
    """

    def __init__(self) -> None:
        super().__init__()
        self._takers = dict[int, Take]()  # by the id of a subscription
        self._ps = QuickParser(self, self._process_msg)

    async def take(self, subject: str, take: Take) -> Subscription:
        """Subscribe, and have each message handed over as it is read: no queue, no task.

        What ``take`` raises goes to the client's ``error_cb``, and the next message is taken: past
        here it would end the reading of the connection.
        """
        subscription = await self.subscribe(subject)
        sid = next(sid for sid, each in self._subs.items() if each is subscription)
        self._takers = {each: take for each, take in self._takers.items() if each in self._subs}
        self._takers[sid] = take
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
        take = self._takers.get(sid)
        if take is None or sid not in self._subs:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        plain = headers.startswith(_VERSION)
        read = (
            headers_of(headers[len(_VERSION) :]) if plain else await self._process_headers(headers)
        )
        try:
            take(Msg(self, subject.decode(), reply.decode(), data, read))
        except Exception as error:  # noqa: BLE001 - as the library does with a callback's
            await self._error_cb(error)

    async def publish_all(self, messages: Sequence[Sent]) -> bool:
        """Send messages together, in order; return False, and send none, if one is not plain.

        Then, as without a connection, the library has to look at each of them.
        """
        if not self.is_connected or self.is_draining_pubs:
            return False
        lines, size = list[bytes](), 0
        for subject, payload, headers in messages:
            block = header_block(headers)
            if block is None or not _SUBJECT.fullmatch(subject) or len(payload) > self._max_payload:
                return False
            head = f"HPUB {subject}  {len(block)} {len(block) + len(payload)}\r\n"
            lines += (head.encode(), block, payload, b"\r\n")
            size += len(payload)
        self.stats["out_msgs"] += len(messages)
        self.stats["out_bytes"] += size
        await self._send_command(b"".join(lines))
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()
        return True

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
        return headers_of(raw)


async def publish_all(client: Client, messages: Sequence[Sent]) -> None:
    """Publish messages, in order; raise what ``Client.publish`` does."""
    if isinstance(client, QuickClient) and await client.publish_all(messages):
        return
    for subject, payload, headers in messages:
        await client.publish(subject, payload, headers=dict(headers))
