"""Caches for seconds when workloads might start: a simulation takes longer than a request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tidegate.cli.commands.show.positions import observed_run_times
from tidegate.cli.ledger.lag import lag_us
from tidegate.cli.ledger.reading import Reader
from tidegate.core.state.state import State
from tidegate.replay.simulator.forecast import ForecastInput, RuntimeHistory, Start, forecast
from tidegate.serve.auth.ttl_cache import TtlCache

REMEMBERED_S, REMEMBERED_MAX = 5.0, 16
By: TypeAlias = Mapping[str, Start]
"""Starts by the workload's key."""
_NOTHING: By = {}
_Key: TypeAlias = tuple[int, int, frozenset[str]]


class StartEstimates:
    """Estimates starts of pending workloads in some ClusterQueues, once for all callers."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._starts = TtlCache[_Key, By](REMEMBERED_S, REMEMBERED_MAX, now_s)
        self._ran = TtlCache[int, RuntimeHistory](REMEMBERED_S, 1, now_s)

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

    def _simulate(self, key: _Key, play: ForecastInput) -> By:
        starts = play.starts()
        self._starts.put(key, starts)
        return starts

    def _recorded_runtimes(self, reader: Reader) -> RuntimeHistory:
        ran = self._ran.get(reader.end)
        if ran is None:
            ran = observed_run_times(reader)
            self._ran.put(reader.end, ran)
        return ran
