"""NATS' protocol as a client reads it: messages in one step, all other lines as nats-py does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from nats.aio.client import Client
from nats.errors import ProtocolError
from nats.protocol.parser import Parser

from tidegate.model.texts import whole

_END = b"\r\n"
_MESSAGES = (b"MSG ", b"HMSG ")
_WORDS, _WORDS_WITH_REPLY = 4, 5
"""Of a message's first line, one more if the message has headers."""


Process: TypeAlias = Callable[[int, bytes, bytes, bytes, bytes], Awaitable[None]]
"""Takes a message: id of the subscription, subject, reply, data, headers."""


class QuickParser(Parser):
    """nats-py's parser with another way for messages, which are most of what comes.

    The library tries its expressions one after another on each line, and copies a message twice.
    """

    def __init__(self, client: Client, process: Process) -> None:
        super().__init__(client)
        self._process = process

    def reset(self) -> None:
        """Forget what was read in part: the connection is another one."""
        super().reset()
        self._rest, self._connection = b"", object()

    async def parse(self, data: bytes = b"") -> None:
        """Read bytes that came; what is not complete waits for those that follow.

        Raises:
            ProtocolError: no server of NATS says this.
        """
        unread, at, connection = self._rest + data, 0, self._connection
        self._rest = b""
        while (line_end := unread.find(_END, at)) >= 0 and self._connection is connection:
            begin = line_end + len(_END)
            if unread.startswith(_MESSAGES, at):
                end = await self._message(unread, unread[at:line_end].split(), begin)
                if end > len(unread):
                    break
            else:
                end = begin
                await super().parse(unread[at:end])
                if self.buf:
                    raise ProtocolError("nats: unknown protocol")
            at = end
        if self._connection is connection:
            self._rest = unread[at:]

    async def _message(self, unread: bytes, words: list[bytes], begin: int) -> int:
        """Process a message; return where it ends, which is behind ``unread`` if it is not whole.

        ``words`` are of its first line, behind which it begins.
        """
        headed = words[0] == b"HMSG"
        if len(words) - headed not in {_WORDS, _WORDS_WITH_REPLY}:
            raise ProtocolError("nats: malformed MSG")
        sid, size = _number(words[2]), _number(words[-1])
        body = begin + _number(words[-2]) if headed else begin
        until = begin + size
        end = until + len(_END)
        if end <= len(unread):
            reply = words[3] if len(words) - headed == _WORDS_WITH_REPLY else b""
            headers, data = unread[begin:body], unread[body:until]
            await self._process(sid, words[1], reply, data, headers)
        return end


def _number(word: bytes) -> int:
    """Return the number of a message's first line.

    Raises:
        ProtocolError: it is none.
    """
    number = whole(word.decode("latin-1"))
    if number is None:
        raise ProtocolError("nats: malformed MSG")
    return number
