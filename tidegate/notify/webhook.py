"""Webhooks: a notice as a request, tried again until it is taken, refused or too old."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
import stamina

from tidegate.notify.configuration import Form, Receiver, url_of
from tidegate.notify.rules import Notice
from tidegate.service.logs import get_log

ANSWER_S, FIRST_S, LONGEST_S = 10.0, 0.5, 60.0
_PASSING = {408, 425, 429}
_SERVER_ERROR, _GOOD = 500, 300


class RefusedError(Exception):
    """The receiver does not take this notice, and will not if asked again."""


class UnavailableError(Exception):
    """The receiver is away, or asks for patience."""


class Webhook:
    """Sends one receiver its notices, in order."""

    def __init__(
        self, receiver: Receiver, source: str, give_up_s: float, session: aiohttp.ClientSession
    ) -> None:
        self._form, self._source, self._give_up_s = receiver.form, source, give_up_s
        self._url, self._session = url_of(receiver), session
        # The path of a webhook is its password: a log has the host alone.
        self._log = get_log("notify").bind(
            receiver=receiver.name, host=urlsplit(self._url).hostname
        )

    async def send(self, notice: Notice) -> bool:
        """Send a notice; return whether the receiver took it. A failure is logged."""
        tries = stamina.retry_context(
            on=UnavailableError,
            attempts=None,
            timeout=self._give_up_s,
            wait_initial=FIRST_S,
            wait_max=LONGEST_S,
        )
        try:
            async for attempt in tries:
                with attempt:
                    await self._post(notice)
        except (RefusedError, UnavailableError) as error:
            self._log.error("notice given up", key=notice.key, why=str(error))
            return False
        self._log.info("notice sent", key=notice.key, type=notice.type)
        return True

    async def _post(self, notice: Notice) -> None:
        body, kind = _request_body(notice, self._form, self._source)
        headers = {"Content-Type": kind, "Idempotency-Key": notice.key}
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                status = answer.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnavailableError(type(error).__name__) from error
        if status in _PASSING or status >= _SERVER_ERROR:
            raise UnavailableError(f"it answered {status}")
        if status >= _GOOD:
            raise RefusedError(f"it answered {status}")


@asynccontextmanager
async def open_webhook(
    receiver: Receiver, source: str, give_up_s: float
) -> AsyncGenerator[Webhook]:
    """Lend what sends to a receiver; its URL is read now.

    ``give_up_s`` is for how many seconds a notice is tried again.

    Raises:
        ConfigurationError: there is no URL.
    """
    timeout = aiohttp.ClientTimeout(total=ANSWER_S)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:
        yield Webhook(receiver, source, give_up_s, session)


def _request_body(notice: Notice, form: Form, source: str) -> tuple[bytes, str]:
    if form is Form.SLACK:
        return msgspec.json.encode({"text": _escaped(notice.text)}), "application/json"
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": notice.key,
        "source": source,
        "type": f"dev.tidegate.notice.{notice.type}",
        "subject": notice.workload or notice.cluster_queue or "-",
        "time": _rfc3339(notice.at_us),
        "datacontenttype": "application/json",
        "data": {
            "workload": notice.workload,
            "clusterQueue": notice.cluster_queue,
            "seq": notice.seq,
            "text": notice.text,
        },
    }
    return msgspec.json.encode(event), "application/cloudevents+json"


def _escaped(text: str) -> str:
    """Escape Slack's control characters: a workload's author may not mention @channel."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _rfc3339(at_us: int) -> str:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
