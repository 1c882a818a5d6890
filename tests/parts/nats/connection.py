"""The client's side: what the bus uses of nats-py, over a way that is late, breaks and forgets.

Messages keep their order each way, as on one socket. A connection that is cut loses what is under
way in both directions, comes back by itself, and then tells so, as nats-py does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, NamedTuple, cast

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from tests.parts.nats.server import NO_RESPONDERS, NOT_NOW, READ, Answer, Server

Callback = Callable[[Msg], Awaitable[None]]
AWAY_S = 0.5, 3.0
"""For how long a connection that was cut is away."""


class Blows(NamedTuple):
    """What may happen to one message on its way, by chance; nothing by default."""

    cut_before: Callable[[], bool] = lambda: False  # the connection breaks: it does not arrive
    cut_behind: Callable[[], bool] = lambda: False  # it is done, and the connection breaks
    unheard: Callable[[], bool] = lambda: False  # a delivery is dropped, as of a slow consumer
    leaderless: Callable[[], bool] = lambda: False  # JetStream can do nothing now but read


class _Way:
    """One direction of a connection."""

    def __init__(self, lag_s: Callable[[], float]) -> None:
        self._lag_s, self._last_s = lag_s, 0.0
        self._under_way = deque[Callable[[], None]]()
        self._lost = 0

    def send(self, arrive: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._last_s = max(self._last_s, loop.time() + self._lag_s())
        self._under_way.append(arrive)
        loop.call_at(self._last_s, self._arrive)

    def lose(self) -> None:
        self._under_way = deque(_nothing for _ in self._under_way)

    def _arrive(self) -> None:
        self._under_way.popleft()()


class Subscription:
    """``nats.aio.subscription.Subscription`` as far as it is used."""

    def __init__(self, connection: Connection, subject: str, callback: Callback) -> None:
        self.subject, self.callback = subject, callback
        self._connection = connection
        self._waiting = deque[Msg]()
        self._task: asyncio.Task[None] | None = None

    async def unsubscribe(self) -> None:
        self._connection.forget(self.subject)

    def hear(self, msg: Msg) -> None:
        self._waiting.append(msg)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._call())

    async def _call(self) -> None:
        while self._waiting:
            await self.callback(self._waiting.popleft())

    def end(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()


class Connection:
    """``nats.aio.client.Client`` as far as it is used."""

    def __init__(
        self, server: Server, random: Random, *, lag_s_max: float = 0.0, blows: Blows | None = None
    ) -> None:
        self._server, self._random = server, random
        self._blows = blows or Blows()
        lag_s = (lambda: random.random() * lag_s_max) if lag_s_max else float
        self._up, self._down = _Way(lag_s), _Way(lag_s)
        self._subscriptions = dict[str, Subscription]()
        self._answers = dict[str, asyncio.Future[Msg]]()
        self._unsent = deque[tuple[str, bytes, dict[str, str], str]]()
        self.is_connected, self.is_closed = True, False
        self.last_error: Exception | None = None
        self.reconnected: Callable[[], Awaitable[None]] | None = None
        self._coming: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        """Return this as the type that the bus takes."""
        return cast("Client", self)

    def new_inbox(self) -> str:
        self._server.inboxes += 1
        return f"_INBOX.{self._server.inboxes}"

    async def request(
        self,
        subject: str,
        payload: bytes,
        timeout: float,  # noqa: ASYNC109 - nats-py's own form
        headers: dict[str, str] | None = None,
    ) -> Msg:
        reply, answer = self.new_inbox(), asyncio.get_running_loop().create_future()
        self._answers[reply] = answer
        self._send(subject, payload, headers or {}, reply)
        try:
            async with asyncio.timeout(timeout):
                msg: Msg = await answer
        finally:
            self._answers.pop(reply, None)
        if (msg.headers or {}).get("Status") == "503":
            raise nats.errors.NoRespondersError
        return msg

    async def publish(
        self, subject: str, payload: bytes, reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        self._send(subject, payload, headers or {}, reply)

    async def subscribe(self, subject: str, cb: Callback, **_: Any) -> Subscription:  # noqa: ANN401 - its limits are not simulated
        made = self._subscriptions[subject] = Subscription(self, subject, cb)
        return made

    def forget(self, subject: str) -> None:
        if subscription := self._subscriptions.pop(subject, None):
            subscription.end()

    async def close(self) -> None:
        self.end()

    def end(self) -> None:
        """Be gone, without a word to the server."""
        self.is_connected, self.is_closed = False, True
        self._lose()
        for subject in list(self._subscriptions):
            self.forget(subject)
        if self._coming is not None:
            self._coming.cancel()

    def cut(self, away_s: float | None = None) -> None:
        """Break: what is under way is lost; come back after that time, or after a while."""
        if self.is_connected:
            self.is_connected = False
            self._lose()
            lasting_s = self._random.uniform(*AWAY_S) if away_s is None else away_s
            self._coming = asyncio.ensure_future(self._come_back(lasting_s))

    async def _come_back(self, lasting_s: float) -> None:
        await asyncio.sleep(lasting_s)
        self.is_connected = True
        unsent, self._unsent = self._unsent, deque()
        for row in unsent:  # and perhaps it breaks again at one of these
            self._send(*row)
        if self.reconnected is not None and self.is_connected:
            await self.reconnected()

    def _lose(self) -> None:
        self._up.lose()
        self._down.lose()

    def _send(self, subject: str, payload: bytes, headers: dict[str, str], reply: str) -> None:
        if self.is_closed:
            raise nats.errors.ConnectionClosedError
        if not self.is_connected:
            self._unsent.append((subject, payload, headers, reply))
        elif self._blows.cut_before():
            self.cut()
        else:
            self._up.send(lambda: self._arrive(subject, payload, headers, reply))

    def _arrive(self, subject: str, payload: bytes, headers: dict[str, str], reply: str) -> None:
        answer = self._answer(subject, payload, headers, reply)
        if answer is None or not reply:
            return
        if answer is not NO_RESPONDERS and self._blows.cut_behind():
            self.cut()
            return
        msg = Msg(self.client, subject=reply, data=answer[0], headers=answer[1])
        self._down.send(lambda: self._resolve(reply, msg))

    def _answer(
        self, subject: str, payload: bytes, headers: dict[str, str], reply: str
    ) -> Answer | None:
        if self._blows.leaderless() and not subject.startswith(READ):
            return NOT_NOW
        return self._server.take(subject, payload, headers, self._deliver, reply)

    def _resolve(self, reply: str, msg: Msg) -> None:
        answer = self._answers.get(reply)
        if answer is not None and not answer.done():
            answer.set_result(msg)

    def _deliver(
        self, inbox: str, subject: str, payload: bytes, headers: dict[str, str], reply: str
    ) -> bool:
        """Bring a consumer's message to an inbox; tell whether the inbox has a subscription."""
        if inbox not in self._subscriptions or not self.is_connected:
            return False
        if reply and self._blows.unheard():
            return True
        msg = Msg(self.client, subject=subject, reply=reply, data=payload, headers=headers)
        self._down.send(lambda: self._hear(inbox, msg))
        return True

    def _hear(self, inbox: str, msg: Msg) -> None:
        if subscription := self._subscriptions.get(inbox):
            subscription.hear(msg)


def _nothing() -> None:
    pass
