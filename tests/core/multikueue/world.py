"""What every world among three clusters has: a core, a dispatcher's targets, and clusters to reach.

What may happen are the methods ``_<name>`` of the world, each with a cluster. A world draws from
its seed which comes next, by weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import ClassVar, Generic, Protocol, TypeVar

from dispatcher.targets import Targets
from tests.core.multikueue.stage import Stage
from tests.core.telling import BEGIN, SECOND
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import FactEvent
from tidegate.core.folding.snapshot import decode, encode
from tidegate.model.multikueue import Dispatcher, MultiKueuePolicy

LOST_S = 60
NAMES = ("w1", "w2", "w3")


class Cluster(Protocol):
    """A worker cluster, which the manager reaches or not."""

    name: str
    connected: bool


C = TypeVar("C", bound=Cluster)


class Looks(Protocol):
    """Says what must hold of what was folded, and whether all has ended well."""

    def look(self, events: Sequence[FactEvent | DecisionEvent]) -> None:
        """Raise an AssertionError if something does not hold."""

    def is_over(self) -> bool:
        """Return whether nothing is left to happen."""
        ...


class World(ABC, Generic[C]):
    """One seed's world; a script of ``stage`` is what happened in it."""

    judge: Looks
    calm: ClassVar[dict[str, int]]
    """What happens by itself, with its weight; the order is part of a seed."""
    faults: ClassVar[dict[str, int]]
    """What strikes beside it, or happens otherwise then."""
    warm_up: ClassVar[dict[str, int]]
    """What happens otherwise in half of the worlds before anything strikes."""
    warm_up_steps: ClassVar[int]
    rounds_max: ClassVar[int]
    """Steps within which everything has to end once nothing strikes any more."""

    def __init__(
        self, random: Random, kind: str, dispatchers: Sequence[Dispatcher], remotes: Mapping[str, C]
    ) -> None:
        """Begin with no cluster reached and no workload submitted."""
        self.random, self.script, self.remotes = random, list[str](), remotes
        policy = MultiKueuePolicy(
            dispatcher=random.choice(dispatchers),
            step=random.randint(1, 2),
            worker_lost_us=LOST_S * SECOND,
            kinds=(kind,),
        )
        self.stage = Stage(policy, tuple(remotes), second=False)
        self.targets, self.session, self.learnt = Targets(), 1, 0

    def run(self, steps: int) -> None:
        """Let so many things happen, then let all end well."""
        self._submit()
        for remote in self.remotes.values():
            self._reach(remote, connected=self.random.random() < 0.8)
        for _ in range(self.random.choice((0, self.warm_up_steps))):
            self._step(self.calm | self.warm_up)
        for _ in range(steps):
            self._step(self.calm | self.faults)
        self._heal()
        self._end_well(self.calm)

    @abstractmethod
    def _submit(self) -> None:
        """Let the first line happen."""

    def _heal(self) -> None:
        """Take back what else would let nothing end."""
        for remote in self.remotes.values():
            self._do(f"policy {remote.name} None")
            self._reach(remote, connected=True)

    def _end_well(self, weights: dict[str, int]) -> None:
        for _ in range(self.rounds_max):
            if self.judge.is_over():
                return
            self._step(weights)
        raise AssertionError("it never ends")

    def _step(self, weights: dict[str, int]) -> None:
        name = self.random.choices(list(weights), list(weights.values()))[0]
        happen: Callable[[C], None] = getattr(self, f"_{name}")
        happen(self.random.choice(list(self.remotes.values())))

    def _do(self, line: str) -> None:
        """Let a line happen, let the dispatcher learn what follows, and look at what must hold."""
        self.script.append(line)
        self.stage.do(line)
        new = self.stage.history[self.learnt :]
        self.learnt = len(self.stage.history)
        for event in new:
            self.targets.apply_event(event)
        self.judge.look(new)

    def _begin(self, _: C) -> None:
        """Let another dispatcher take over; EVENTS may have lost all that came before it."""
        self.session += 1
        self.targets = Targets()
        for event in self.stage.history if self.random.random() < 0.5 else ():
            self.targets.apply_event(event)
        for remote in self.remotes.values():
            self._reach(remote, connected=remote.connected)

    def _lose(self, remote: C) -> None:
        self._reach(remote, connected=False)

    def _connect(self, remote: C) -> None:
        self._reach(remote, connected=True)

    def _reach(self, remote: C, *, connected: bool) -> None:
        remote.connected = connected
        self._do(f"{'connect' if connected else 'lose'} {remote.name} d{self.session}")

    def _pass(self, _: C) -> None:
        self._do(f"pass {self.random.choice((1, 10, 61, 301))}")

    def _snapshot(self, _: C) -> None:
        """Let another scheduler go on from what was kept."""
        self.stage.bus.state = decode(encode(self.stage.bus.state))

    def _stop_policy(self, remote: C) -> None:
        policy = self.random.choice(("None", "Hold", "HoldAndDrain"))
        self._do(f"policy {remote.name} {policy}")

    def _now_s(self) -> int:
        return (self.stage.bus.at_us - BEGIN) // SECOND + 1
