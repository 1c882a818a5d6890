"""Answers that count as their reader's until they were taken: one who takes none gets no more."""

from __future__ import annotations

from contextlib import ExitStack

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PART_BYTES = 64 * 1_024
"""What the connection takes at once: before the next part it waits until most of it is gone."""


class HeldResponse(Response):
    """An answer that holds something until its client has taken all but the last of it."""

    def __init__(self, answer: Response, slots: ExitStack) -> None:
        """``slots`` is closed when it was taken, or the client is gone."""
        super().__init__(status_code=answer.status_code)
        self.body, self.raw_headers, self._slots = answer.body, answer.raw_headers, slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it in parts."""
        del scope, receive
        start = {"status": self.status_code, "headers": self.raw_headers}
        with self._slots:
            await send({"type": "http.response.start", **start})
            for at in range(0, len(self.body), PART_BYTES):
                part = self.body[at : at + PART_BYTES]
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
