"""Administrators who move trees between partitions, as docs/partitions.md says.

They annotate the objects of a tree one after the other, call moves off, ask for the way back while
one is under way, and write the partition down once the tree has arrived, or never. Draws from a
generator of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from tests.simulation.cluster import KUEUE, Cluster
from tidegate.kinds.names import MOVE_TO, PARTITION

Object = dict[str, Any]
PAUSE_S, BETWEEN_S = (0.0, 3.0), (1.0, 20.0)
HALF, CALLED_OFF, WRITTEN_DOWN = 0.15, 0.15, 0.3
"""How likely it is that only some of a tree are asked, that a move is called off, or finished."""


class Movers:
    """Moves each tree some times; ``arrived`` tells the partition that a tree is open in."""

    def __init__(
        self,
        cluster: Cluster,
        random: Random,
        trees: Mapping[str, Sequence[str]],
        arrived: Callable[[str], int | None],
    ) -> None:
        """``trees``: the paths of the objects of each, below Kueue's API."""
        self._cluster, self._random = cluster, random
        self._trees, self._arrived = trees, arrived
        self.asked = 0
        self.wanted = dict[str, int]()  # where each tree is to be at rest

    async def run(self, count: int) -> None:
        """Ask for so many moves, one after the other."""
        random = self._random
        for _ in range(count):
            await asyncio.sleep(random.uniform(*BETWEEN_S))
            tree = random.choice(sorted(self._trees))
            if random.random() < WRITTEN_DOWN:
                await self._write_down(tree)
            else:
                await self._ask(tree)

    def settle(self) -> None:
        """Have each tree ask for one partition, however the last move was left."""
        for tree, paths in self._trees.items():
            to = self._random.choice((0, 1))
            for path in paths:
                self._annotate(path, {MOVE_TO: str(to)})
            self.wanted[tree] = to

    async def _ask(self, tree: str) -> None:
        random, paths = self._random, list(self._trees[tree])
        here = self._arrived(tree)
        to = random.choice((0, 1)) if here is None else 1 - here
        random.shuffle(paths)
        if random.random() < HALF:
            paths = paths[: max(1, len(paths) // 2)]
        self.asked += 1
        for path in paths:
            self._annotate(path, {MOVE_TO: str(to)})
            await asyncio.sleep(random.uniform(*PAUSE_S))
        if random.random() < CALLED_OFF:
            for path in paths:
                self._annotate(path, {MOVE_TO: None})
                await asyncio.sleep(random.uniform(*PAUSE_S))

    async def _write_down(self, tree: str) -> None:
        """Finish a move, as the policy allows it: the tree is where it is asked to be."""
        for path in self._trees[tree]:
            here = self._arrived(tree)
            notes = self._notes(path)
            if here is None or notes.get(MOVE_TO) != str(here):
                return
            self._annotate(path, {MOVE_TO: None, PARTITION: str(here)})
            await asyncio.sleep(self._random.uniform(*PAUSE_S))

    def _notes(self, path: str) -> dict[str, str]:
        kind, _, name = path.partition("/")
        state = self._cluster.api.registry.state
        obj: Object = state.get(f"{kind}.kueue.x-k8s.io", "", name) or {"metadata": {}}
        notes: dict[str, str] = obj["metadata"].get("annotations") or {}
        return notes

    def _annotate(self, path: str, notes: dict[str, str | None]) -> None:
        body = {"metadata": {"annotations": notes}}
        answer = self._cluster.act("admin", "PATCH", f"{KUEUE}/{path}", body)
        assert answer.status == 200, answer.body
