"""Connections to all worker clusters, kept while credentials are usable; status says which.

A cluster counts as connected once everything that was sent there is listed and watched. One that
does not answer is tried again later and later, and delays no other.

Source: multikueue.md 1.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from dispatcher.manager.credentials import Credentials, KubeconfigReader, credentials_of
from dispatcher.manager.manager_cluster import ManagerCluster
from dispatcher.manager.plugins import log_in
from dispatcher.publish import Publisher
from dispatcher.workers.kubeconfig import Refusal
from dispatcher.workers.worker import Worker
from tidegate.errors import TidegateError
from tidegate.jobs.kind import JobKind
from tidegate.kinds.times import rfc3339
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi
from tidegate.kube.reading import LINE_BYTES_MAX
from tidegate.service.logs import get_log

FIRST_S, DOUBLINGS_MAX = 5, 6
_log = get_log("workers")
_OPEN_S = 60.0
_LOOK_S, _POLL_S = 5.0, 0.2
_STOOD_S = 10.0
"""A connection that broke sooner counts as a failure: it is not made again at once."""
_MESSAGE_MAX = 1_024
_UNUSABLE = "load client config failed: "
Client = Callable[[Credentials], AbstractAsyncContextManager[KubernetesApi]]


def delay_s(failures: int) -> int:
    """Return how long to wait after the n-th failure in a row (from 1): 5 s doubling to 320 s."""
    return FIRST_S << (min(failures, DOUBLINGS_MAX + 1) - 1)


class Attempts(msgspec.Struct, frozen=True, kw_only=True):
    """How often a cluster could not be reached with the credentials that it has."""

    credentials: bytes = b""  # what was tried
    failures: int = 0
    next_s: float = 0.0  # not before this time is it tried again

    def may_try(self, credentials: bytes, now_s: float) -> bool:
        """Return whether it is time; other credentials are tried at once."""
        return credentials != self.credentials or now_s >= self.next_s

    def after_failure(self, credentials: bytes, now_s: float) -> Attempts:
        """Return the same after one failure more."""
        failures = self.failures + 1 if credentials == self.credentials else 1
        wait_s = delay_s(failures)
        return Attempts(credentials=credentials, failures=failures, next_s=now_s + wait_s)


def with_attempts(message: str, failures: int, next_at: str) -> str:
    """Return the message of a condition, with the attempts so far and the time of the next."""
    if not failures:
        return message
    return f"{message}; connection attempts: {failures}, next connection attempt: {next_at}"


@dataclass(slots=True)
class _ClusterConnection:
    """The state of one cluster's connection."""

    uid: str  # of its object: one that is made anew under its name is another cluster
    reader: KubeconfigReader = field(default_factory=KubeconfigReader)
    attempts: Attempts = field(default_factory=Attempts)
    credentials: bytes = b""  # those that it is connected with; empty: it is not
    task: asyncio.Task[None] | None = None
    since_s: float = 0.0  # when it was reached, by the loop's clock


class Fleet:
    """``changed`` is called with a cluster, and the key of a Workload that changed there."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of it
        self,
        home: ManagerCluster,
        publisher: Publisher,
        kinds: Sequence[JobKind[Any]],
        origin: str,
        now_us: Callable[[], int],
        changed: Callable[[str, str], None],
        client: Client,
    ) -> None:
        self._home, self._publisher = home, publisher
        self._kinds, self._origin, self._now_us, self._changed = kinds, origin, now_us, changed
        self._client = client
        self.workers = dict[str, Worker]()  # the clusters that answer, by name
        self._lines = dict[str, _ClusterConnection]()
        self._due, self._news = set[str](), asyncio.Event()

    def request_reconcile(self, name: str) -> None:
        """Reconcile a cluster soon: it may have changed."""
        self._due.add(name)
        self._news.set()

    async def run(self) -> None:
        """Keep every cluster connected for ever; each is looked at now and then."""
        while not self._home.complete:  # noqa: ASYNC110 - once, at a start
            await asyncio.sleep(_POLL_S)
        now_s, look_s = asyncio.get_running_loop().time, 0.0
        try:
            while True:
                if now_s() >= look_s:
                    look_s = now_s() + _LOOK_S
                    self._due |= {*self._home.clusters.items, *self._lines}
                due, self._due = self._due, set()
                await self._reconcile(due)
                # Not wait_for: in Python 3.11 it may lose a cancellation.
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(look_s):
                        await self._news.wait()
                self._news.clear()
        finally:
            await asyncio.gather(*(self._disconnect(line) for line in self._lines.values()))

    async def republish(self) -> None:
        """Publish again which clusters are connected.

        Who reads it may have learnt later that a cluster of the name was deleted before.
        """
        for name in list(self.workers):
            self._publisher.forget_cluster(name)
            await self._publisher.publish_cluster(name, connected=True, reason="", message="")

    async def _reconcile(self, names: Iterable[str]) -> None:
        for name in sorted(names):
            cluster, line = self._home.clusters.items.get(name), self._lines.get(name)
            uid = "" if cluster is None else cluster["metadata"]["uid"]
            if line is not None and line.uid != uid:
                await self._disconnect(self._lines.pop(name))
                self._publisher.forget_cluster(name)
                self._home.set_usable(name, usable=False)
            if cluster is None:
                continue
            if name not in self._lines:
                self._lines[name] = _ClusterConnection(uid=uid)
            line = self._lines[name]
            if line.task is None or line.task.done():
                line.task = None
            try:
                await self._reconcile_cluster(name, line)
            except Exception:  # noqa: BLE001 - of one cluster: the others go on
                _log.exception("not looked at", worker=name)

    async def _reconcile_cluster(self, name: str, line: _ClusterConnection) -> None:
        cluster = self._home.clusters.items.get(name)
        if cluster is None:
            return  # it was deleted while another one was looked at
        credentials = await credentials_of(cluster, self._home.sources, line.reader)
        if isinstance(credentials, Refusal):
            await self._disconnect(line)
            await self._report_disconnected(name, credentials.reason, _UNUSABLE + credentials.error)
            return
        if line.task is not None and line.credentials == credentials.data:
            if name in self.workers:
                await self._show_connected(name)
            return
        now_s = asyncio.get_running_loop().time()
        if line.task is None and not line.attempts.may_try(credentials.data, now_s):
            return
        await self._disconnect(line)
        line.credentials = credentials.data
        line.task = asyncio.create_task(self._stay_connected(name, line, credentials))

    async def _stay_connected(
        self, name: str, line: _ClusterConnection, credentials: Credentials
    ) -> None:
        """Stay connected until the connection breaks, and return the reason."""
        try:
            async with self._client(credentials) as api:
                worker = Worker(
                    name,
                    api,
                    self._kinds,
                    self._origin,
                    partial(self._changed, name),
                )
                async with asyncio.timeout(_OPEN_S):
                    await worker.open()
                self.workers[name] = worker
                line.since_s = asyncio.get_running_loop().time()
                await self._on_connected(name, worker)
                await worker.follow()
        except* Exception as group:  # noqa: BLE001 - whatever one answers: the others go on
            await self._on_connection_lost(
                name, line, credentials.data, _error_text(group.exceptions[0])
            )
        finally:
            self._lose(name)
            self.request_reconcile(name)

    async def _on_connected(self, name: str, worker: Worker) -> None:
        _log.info("connected", worker=name)
        await self._publisher.publish_cluster(name, connected=True, reason="", message="")
        self._home.set_usable(name, usable=True)
        await self._show_connected(name)
        for key in list(worker.workloads.items):
            self._changed(name, key)

    async def _show_connected(self, name: str) -> None:
        """Set the condition of a connected cluster, unless it is set."""
        await self._home.set_cluster_condition(
            name, status=True, reason="Active", message="Connected"
        )

    async def _on_connection_lost(
        self, name: str, line: _ClusterConnection, credentials: bytes, error: str
    ) -> None:
        """Note a failure; one that had stood is tried again at once, unreported."""
        now_s = asyncio.get_running_loop().time()
        stood = name in self.workers and now_s >= line.since_s + _STOOD_S
        self._lose(name)
        _log.warning("not connected", worker=name, error=error)
        if stood:
            line.attempts = Attempts(credentials=credentials)
            return
        line.attempts = line.attempts.after_failure(credentials, now_s)
        wait_s = line.attempts.next_s - now_s
        asyncio.get_running_loop().call_later(wait_s, self.request_reconcile, name)
        next_at = rfc3339(self._now_us() + int(wait_s * 1_000_000))
        message = with_attempts(error, line.attempts.failures, next_at)
        await self._report_disconnected(name, "ClientConnectionFailed", message)

    async def _report_disconnected(self, name: str, reason: str, message: str) -> None:
        await self._publisher.publish_cluster(name, connected=False, reason=reason, message=message)
        await self._home.set_cluster_condition(name, status=False, reason=reason, message=message)

    def _lose(self, name: str) -> None:
        """Note that a cluster does not answer."""
        self.workers.pop(name, None)
        self._home.set_usable(name, usable=False)

    async def _disconnect(self, line: _ClusterConnection) -> None:
        if line.task is not None:
            line.task.cancel()
            await asyncio.gather(line.task, return_exceptions=True)
        line.task, line.credentials = None, b""


def _error_text(error: BaseException) -> str:
    """Return why a connection broke, in bounds: the ledger keeps it, and a worker may write it."""
    match error:
        case BaseExceptionGroup():
            return _error_text(error.exceptions[0])
        case TimeoutError():
            return "watch establishment timed out"
        case TidegateError() | OSError():
            return str(error)[:_MESSAGE_MAX]
        case _:
            return f"not understood: {type(error).__name__}"


@asynccontextmanager
async def client_of(credentials: Credentials) -> AsyncGenerator[KubernetesApi]:
    """Open a client of a worker cluster; see ``tidegate.kube.client.connect`` and ``log_in``."""

    async def document() -> dict[str, Any]:
        if credentials.plugin is None:
            return credentials.document
        (user,) = credentials.document["users"]
        return {
            **credentials.document,
            "users": [{**user, "user": await log_in(credentials.plugin)}],
        }

    access = Access(document=document, answer_bytes_max=LINE_BYTES_MAX)
    async with connect(access) as api:
        yield api
