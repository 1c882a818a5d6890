"""A ledger of two partitions, made by their schedulers over one bus.

The ClusterQueue ``first`` is in partition 0, ``second`` in partition 1, and both count their seqs
from 1. The job ``moved`` waits in ``first`` until it names a LocalQueue that leads to ``second``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from scheduler.leader_state import LeaderState
from scheduler.turn import run_turn
from store.access.engine import open_engine
from store.schema.migrate import upgrade
from tests.bus.memory.all_ports import EPOCH_US, MemoryBus
from tests.core.telling import FLAVORS, JOBS, beat, completed, flavor, job, started
from tests.parts.virtual import run_virtually
from tests.scheduler.test_partitions import LOCAL_QUEUES, QUEUES, Site, lead, queue
from tidegate.contracts.observations import NamespaceObserved
from tidegate.kinds.kueue_api.prices import read_prices
from tidegate.model.podset import Container, PodSet

NAMESPACES = "namespaces"
RESOURCES = (NAMESPACES, FLAVORS, QUEUES, LOCAL_QUEUES, JOBS)
LARGE = (PodSet(containers=(Container(requests={"cpu": "4"}),)),)
LISTED: dict[str, tuple[Any, ...]] = {
    NAMESPACES: (NamespaceObserved(name="team", uid="uid-team", version=1, session="a"),),
    FLAVORS: (flavor(prices=read_prices("cpu=0.04 EUR")),),
    QUEUES: (queue("first", 0), queue("second", 1)),
    LOCAL_QUEUES: (lead("zero", "first"), lead("one", "second")),
    JOBS: (
        job("a", queue="zero", created_us=EPOCH_US + 1),
        job("big", queue="zero", created_us=EPOCH_US + 2, podsets=LARGE),
        job("b", queue="one", created_us=EPOCH_US + 3),
        job("wide", queue="one", created_us=EPOCH_US + 4, podsets=LARGE),
    ),
}


async def listed(site: Site, number: int, jobs: Sequence[Any]) -> None:
    """Let ingest list everything."""
    await site.say("probes", beat(number, *RESOURCES))
    for resource in RESOURCES:
        current_jobs = jobs if resource == JOBS else LISTED[resource]
        await site.say(resource, started(resource, number))
        await site.say(resource, *(replace(each, round=number) for each in current_jobs))
        present = [each.uid for each in current_jobs]
        await site.say(resource, completed(30, *present, resource=resource, number=number))


async def story(site: Site) -> None:
    """Let two schedulers decide about some jobs."""
    leaders = [await site.leader(number) for number in range(2)]
    await listed(site, 1, LISTED[JOBS])
    await turns(leaders)
    moved = job("moved", queue="zero", version=40, created_us=EPOCH_US + 5, podsets=LARGE)
    await site.say(JOBS, moved)
    await turns(leaders)
    await site.say(LOCAL_QUEUES, lead("else", "second", version=40))
    await site.say(JOBS, replace(moved, queue="else", version=50))
    await turns(leaders)
    await site.say("probes", beat(2, *RESOURCES))
    await turns(leaders)


async def turns(leaders: Sequence[LeaderState]) -> None:
    """Let each scheduler take a turn, a second after the last."""
    for leader in leaders:
        await asyncio.sleep(1)
        await run_turn(leader)


def write(file: Path) -> None:
    """Write the ledger to a new SQLite file."""

    async def run_story() -> None:
        await story(Site(MemoryBus(), engine))

    engine = open_engine(f"sqlite:///{file}")
    try:
        upgrade(engine)
        run_virtually(run_story())
    finally:
        engine.dispose()
