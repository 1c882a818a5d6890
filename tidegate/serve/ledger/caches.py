"""What is remembered of answers: replies as sent, sums of full hours, and estimated starts.

A ledger's past never changes, nor do its full hours; a simulation takes longer than a request.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

from tidegate.cli.commands.show.positions import observed_run_times
from tidegate.cli.ledger.reader import lag_us
from tidegate.cli.ledger.reading import Reader
from tidegate.core.state.state import State
from tidegate.replay.simulator.forecast import ForecastInput, RuntimeHistory, Start, forecast
from tidegate.serve.auth.ttl_cache import TtlCache

BYTES_MAX = 16 * 2**20
"""What all of them together may take; one alone an eighth of it."""
ENTRY_BYTES = 2_048
"""What is counted of each beside its body: a question may be longer than its answer."""
_Key: TypeAlias = tuple[object, ...]
ROWS_S, ROWS_MAX = 300.0, 8
"""Prices may be set for the past, so they count for minutes."""
Rows: TypeAlias = list[dict[str, Any]]
STARTS_S, STARTS_MAX = 5.0, 16
By: TypeAlias = Mapping[str, Start]
"""Starts by the workload's key."""
_NOTHING: By = {}
_StartsKey: TypeAlias = tuple[int, int, frozenset[str]]


class Reply(NamedTuple):
    """An answer as it is sent."""

    kind: str
    body: bytes


class ReplyCache:
    """The answers that were asked for last, up to so many bytes."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max, self._bytes = bytes_max, 0
        self._replies = OrderedDict[_Key, Reply]()
        self._lock = Lock()

    def get(self, key: _Key) -> Reply | None:
        """Return the answer to a question; None: it is not remembered."""
        with self._lock:
            reply = self._replies.get(key)
            if reply is not None:
                self._replies.move_to_end(key)
            return reply

    def put(self, key: _Key, reply: Reply) -> None:
        """Remember an answer, unless it is a large one."""
        if len(reply.body) > self._bytes_max // 8:
            return
        with self._lock:
            if (before := self._replies.pop(key, None)) is not None:
                self._bytes -= _size(before)
            self._bytes += _size(reply)
            self._replies[key] = reply
            while self._bytes > self._bytes_max:
                self._bytes -= _size(self._replies.popitem(last=False)[1])


def _size(reply: Reply) -> int:
    return len(reply.body) + ENTRY_BYTES


class RowCache:
    """Rows by what they are of; one thread at a time makes them."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._rows = TtlCache[tuple[object, ...], Rows](ROWS_S, ROWS_MAX, now_s)
        self._lock = Lock()

    def get_or_make(self, key: tuple[object, ...], make: Callable[[], Rows]) -> Rows:
        """Return rows that are remembered, or make them."""
        with self._lock:
            rows = self._rows.get(key)
            if rows is None:
                rows = make()
                self._rows.put(key, rows)
            return rows


class StartEstimates:
    """Estimates starts of pending workloads in some ClusterQueues, once for all callers."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._starts = TtlCache[_StartsKey, By](STARTS_S, STARTS_MAX, now_s)
        self._ran = TtlCache[int, RuntimeHistory](STARTS_S, 1, now_s)

    def prepare(self, reader: Reader, state: State, queues: frozenset[str]) -> Callable[[], By]:
        """Return what plays a state out; to be called when the state is not lent any more.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        key = state.seq, reader.past_us, queues
        starts = self._starts.get(key) if queues else _NOTHING
        if starts is not None:
            return lambda: starts
        play = forecast(
            state, self._recorded_runtimes(reader), state.now_us + lag_us(reader), queues
        )
        return lambda: self._simulate(key, play)

    def _simulate(self, key: _StartsKey, play: ForecastInput) -> By:
        starts = play.starts()
        self._starts.put(key, starts)
        return starts

    def _recorded_runtimes(self, reader: Reader) -> RuntimeHistory:
        ran = self._ran.get(reader.end)
        if ran is None:
            ran = observed_run_times(reader)
            self._ran.put(reader.end, ran)
        return ran
