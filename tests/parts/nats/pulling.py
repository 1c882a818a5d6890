"""An ephemeral pull consumer: it delivers from a sequence on, as long as a client pulls."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from tests.parts.nats.stream import Stream, matches

_NS = 1_000_000_000


class Deliver(Protocol):
    """Puts a message on the way to an inbox; tells whether the inbox has a subscription."""

    def __call__(
        self, inbox: str, subject: str, payload: bytes, headers: dict[str, str], reply: str
    ) -> bool: ...


class Consumer:
    """One reader's place in a stream, kept by the server."""

    def __init__(self, name: str, stream: Stream, config: dict[str, Any], deliver: Deliver) -> None:
        self.name, self.stream = name, stream
        self._filter = config.get("filter_subject", "")
        self._at = int(config.get("opt_start_seq", 1)) - 1
        self._delivered = 0
        self._deliver, self._inbox = deliver, ""
        self._left, self._beat_s, self._ends_s = 0, 0.0, 0.0
        self._keep_s = config.get("inactive_threshold", 0) / _NS
        self._spoke_s = 0.0  # when something was said last
        self._timer: asyncio.TimerHandle | None = None
        self.ended = False

    def ask(self, inbox: str, body: dict[str, Any]) -> None:
        """Take up a request for so many messages, in place of the one there was."""
        now_s = asyncio.get_running_loop().time()
        self._inbox, self._left = inbox, int(body["batch"])
        self._beat_s = body.get("idle_heartbeat", 0) / _NS
        self._ends_s = now_s + body.get("expires", 0) / _NS
        self._wait()
        self.go_on()

    def go_on(self) -> None:
        """Deliver what there is, as far as it was asked for."""
        for record in self.stream.after(self._at) if self._left else ():
            if self.ended or not self._left:
                return
            self._at = record.seq
            if self._filter and not matches(self._filter, record.subject):
                continue
            self._delivered += 1
            self._left -= 1
            place = f"{record.seq}.{self._delivered}.{record.at_us * 1_000}.0"
            reply = f"$JS.ACK.{self.stream.config['name']}.{self.name}.1.{place}"
            if not self._deliver(
                self._inbox, record.subject, record.payload, dict(record.headers), reply
            ):
                self._left = 0  # the inbox has no subscription: the server drops the request
            self._spoke_s = asyncio.get_running_loop().time()

    def is_idle(self) -> bool:
        """Tell whether no client has pulled for so long that the server forgets the consumer."""
        return not self._left and asyncio.get_running_loop().time() > self._ends_s + self._keep_s

    def end(self, *, notify: bool) -> None:
        """Deliver nothing more; say so to the client that pulls if ``notify``."""
        self.ended = True
        if self._timer is not None:
            self._timer.cancel()
        if notify and self._left:
            self._say("409", "Consumer Deleted")

    def _wait(self) -> None:
        """Say something when the request expires, and before if nothing else is said."""
        if self._timer is not None:
            self._timer.cancel()
        self._spoke_s = asyncio.get_running_loop().time()
        self._arm()

    def _arm(self) -> None:
        due_s = min(self._ends_s, self._spoke_s + self._beat_s) if self._beat_s else self._ends_s
        self._timer = asyncio.get_running_loop().call_at(due_s, self._tick)

    def _tick(self) -> None:
        if self.ended or not self._left:
            return
        now_s = asyncio.get_running_loop().time()
        if now_s < min(self._ends_s, self._spoke_s + self._beat_s):
            self._arm()  # something was said meanwhile
        elif now_s >= self._ends_s:
            self._left = 0
            self._say("408", "Request Timeout")
        elif self._say("100", "Idle Heartbeat"):
            self._wait()
        else:
            self._left = 0

    def _say(self, status: str, description: str) -> bool:
        fields = {"Status": status, "Description": description}
        return self._deliver(self._inbox, self._inbox, b"", fields, "")
