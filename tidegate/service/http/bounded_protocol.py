"""HTTP/1.1 for servers that any pod can connect to: no client keeps a connection from others.

uvicorn waits for a request, and for a client that takes no answer, without end; and once there are
as many connections as it allows, it refuses all requests, however idle the connections are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""How long the head of a request may take to arrive, from its first byte or the connection on."""
TAKE_S = 30.0
"""How long a client may take nothing of an answer of which more waits than the socket takes."""


class BoundedProtocol(H11Protocol):
    """One connection; of too many the one that was idle the longest is closed."""

    _deadline: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    heard_s = 0.0
    """When it was last heard of, by the loop's clock."""

    @property
    def is_idle(self) -> bool:
        """Return whether no request is under way."""
        return bool(getattr(self.cycle, "response_complete", True))  # it is None at first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as H11Protocol has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.heard_s = self.loop.time()
        self._deadline = self._abort_after(HEAD_S)
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._abort_idlest()

    def data_received(self, data: bytes) -> None:
        """Wait no more once a request is under way, and again where a part of the next one came."""
        super().data_received(data)
        self.heard_s = self.loop.time()
        if not self.is_idle:
            _cancel(self._deadline)
            self._deadline = None
        elif self._deadline is None:
            self._deadline = self._abort_after(HEAD_S)

    def pause_writing(self) -> None:
        """Begin to wait until the client takes what was written."""
        super().pause_writing()
        self._taking = self._abort_after(TAKE_S)

    def resume_writing(self) -> None:
        """Wait no more: the client took it."""
        super().resume_writing()
        _cancel(self._taking)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        super().connection_lost(exc)
        _cancel(self._deadline)
        _cancel(self._taking)

    def _abort_idlest(self) -> None:
        idlest: BoundedProtocol | None = None
        for other in self.connections:
            if not isinstance(other, BoundedProtocol) or other is self or not other.is_idle:
                continue
            if idlest is None or other.heard_s < idlest.heard_s:
                idlest = other
        if idlest is not None:
            idlest.transport.abort()

    def _abort_after(self, seconds: float) -> asyncio.TimerHandle:
        abort: Callable[[], None] = self.transport.abort
        return self.loop.call_later(seconds, abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
