"""The bus of the world: a simulated NATS server, and the real adapters of each process to it."""

from __future__ import annotations

import asyncio
from random import Random

from tests.parts.nats.connection import Blows, Connection
from tests.simulation.faults.life import Life
from tests.simulation.judging.wire import Post, Taken, WatchedServer, newest_of
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.streams import StreamOptions, stream_names

CLUSTER = "local"
NAMES = stream_names(CLUSTER)
EPOCH_US = 1_750_000_000_000_000
"""When the loop's clock was at 0, UTC microseconds: the simulation has no other calendar."""
LAG_S_MAX = 0.01
BELIEVED_US = 300_000_000
"""A step ahead of more than that is taken for a broken clock."""


class Bus:
    """A server that outlives every connection; made inside a running loop."""

    def __init__(self, *, observations_max: int = 500) -> None:
        self._loop = asyncio.get_running_loop()
        self.keeps_events = False  # they show what a ledger has lost, until a scheduler looks
        self.ahead_us = 0  # of the true time: clocks are stepped
        self.latest_us = 0  # that was reported and is believed
        self.taken, self.post = Taken(), Post()
        self.server = WatchedServer(self.now_us, self.taken, self.post)
        self.taken.told = self._told
        self.streams = StreamOptions(observations_messages=observations_max)
        self._connections = list[Connection]()
        self._of = dict[str, Connection]()  # by process
        self._leaderless_until_s = 0.0
        self.parted_until_s = 0.0  # until when some process does not reach the server

    def now_us(self) -> int:
        """Return the server's time, UTC microseconds."""
        stored_us = self.true_us() + self.ahead_us
        if self.ahead_us <= BELIEVED_US:
            self.latest_us = max(self.latest_us, stored_us)
        return stored_us

    def is_ahead(self) -> bool:
        """Tell whether a process was told a time that has not come yet, and believes it."""
        return self.latest_us > self.true_us()

    def true_us(self) -> int:
        """Return the time by a clock that is never stepped, UTC microseconds."""
        return EPOCH_US + round(self._loop.time() * 1_000_000)

    def connect(
        self,
        random: Random,
        life: Life | None = None,
        cluster: str = CLUSTER,
        partition: int = 0,
    ) -> NatsBus:
        """Return the bus as one process has it; without a life nothing befalls it."""
        connection = Connection(
            self.server,
            random,
            lag_s_max=LAG_S_MAX,
            blows=Blows() if life is None else self._blows(life),
        )
        bus = NatsBus(connection.client, cluster, partition=partition)
        connection.reconnected = bus.notify_reconnected
        if life is not None:
            life.ends.append(connection.end)
            self._of[life.name] = connection
        self._connections = [
            connection for connection in self._connections if not connection.is_closed
        ]
        self._connections.append(connection)
        return bus

    def crash(self, *, lost: int) -> None:
        """Let the server die and come back without the newest messages of its streams."""
        for name, stream in self.server.streams.items():
            if not self._keeps(name):
                stream.roll_back(lost)
        self.server.rolled_back_s = self._loop.time() if lost else self.server.rolled_back_s
        self.server.restart()
        for connection in self._connections:
            connection.cut()

    def part(self, process: str, lasting_s: float) -> None:
        """Let a process not reach the server for a while."""
        if process in self._of:
            self._of[process].cut(lasting_s)
            self.parted_until_s = max(self.parted_until_s, self._loop.time() + lasting_s)

    def lack_leader(self, lasting_s: float) -> None:
        """Let JetStream answer for a while that it can do nothing now."""
        self._leaderless_until_s = self._loop.time() + lasting_s
        self.parted_until_s = max(self.parted_until_s, self._leaderless_until_s)

    def _is_leaderless(self) -> bool:
        return self._loop.time() < self._leaderless_until_s

    def _told(self, ledger_id: str) -> int:
        events = self.server.streams.get(NAMES.events)
        return 0 if events is None else int(newest_of(events, ledger_id) or 0)

    def lose(self, message_id: str) -> None:
        """Let a message be stored and lost at once, for good, before any reader gets it."""
        self.server.holes.add(message_id)

    def empty_observations(self) -> None:
        """Purge the stream of observations, read or not."""
        stream = self.server.streams.get(NAMES.observations)
        if stream is not None:
            stream.purge(None)

    def recreate(self, name: str) -> None:
        """Delete a stream and make it anew, if it is there."""
        if name in self.server.streams and not self._keeps(name):
            self.server.recreate(name)

    def stall(self, name: str) -> bool:
        """Let the server store nothing in a stream; return whether there is one that may stall."""
        if name in self.server.streams and not self._keeps(name):
            self.server.stalled.add(name)
            return True
        return False

    def _keeps(self, name: str) -> bool:
        """Tell whether a stream keeps all: what a ledger has lost, or what was written long ago."""
        return name == NAMES.register or (name == NAMES.events and self.keeps_events)

    def recreate_observations(self) -> None:
        self.recreate(NAMES.observations)

    def recreate_events(self) -> None:
        self.recreate(NAMES.events)

    def _blows(self, life: Life) -> Blows:
        return Blows(
            cut_before=lambda: life.alive and life.strikes("cut_before"),
            cut_behind=lambda: life.alive and life.strikes("cut_behind"),
            unheard=lambda: life.alive and life.strikes("unheard"),
            leaderless=self._is_leaderless,
        )
