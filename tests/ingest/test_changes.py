"""Changes that wait to be published: of each object the newest, and rests behind others."""

from __future__ import annotations

import asyncio
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from ingest.watch import BUSY, REST_S, WAITING_MAX, Changed, ChangeQueue
from tests.parts.drawn import drawn
from tests.parts.virtual import run_virtually
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.observed import Namespace

Kind = Literal["ADDED", "MODIFIED", "DELETED"]


def changed(uid: str, version: int, kind: Kind = "MODIFIED") -> Changed:
    meta = ObjectMeta(name=uid, uid=uid, resource_version=str(version))
    return Changed(kind, Namespace(metadata=meta))


async def published(*waiting: Changed) -> list[tuple[str, int, str]]:
    """Return what comes out of one batch after another: uid, version and type."""
    changes = ChangeQueue()
    for change in waiting:
        await changes.put(change)
    changes.end()
    return [
        (change.object.metadata.uid, change.object.metadata.version, change.type)
        async for batch in changes.batches()
        for change in batch
    ]


@drawn(100)
@given(st.lists(st.sampled_from("abc"), max_size=20))
def test_the_newest_change_of_each_object_comes_in_the_order_of_versions(uids: list[str]) -> None:
    """And nothing else: it says all that the older ones said."""
    versions = {uid: version for version, uid in enumerate(uids, 1)}
    waiting = [changed(uid, version) for version, uid in enumerate(uids, 1)]
    newest = sorted(versions.items(), key=lambda pair: pair[1])
    batches = run_virtually(published(*waiting))
    assert batches == [(uid, version, "MODIFIED") for uid, version in newest]


def test_what_an_object_was_at_its_end_comes_before_its_deletion() -> None:
    batches = run_virtually(published(changed("a", 1), changed("a", 2), changed("a", 3, "DELETED")))
    assert batches == [("a", 2, "MODIFIED"), ("a", 3, "DELETED")]


def test_a_change_behind_others_waits_and_what_comes_alone_or_new_behind_few_does_not() -> None:
    async def run() -> list[float]:
        changes, loop, times = ChangeQueue(), asyncio.get_running_loop(), list[float]()
        batches = changes.batches()
        kinds: tuple[list[Kind], ...] = (
            ["MODIFIED"],
            ["MODIFIED"],
            ["ADDED"],
            ["ADDED"] * BUSY,
            ["ADDED"],
        )
        for batch in kinds:
            for number, kind in enumerate(batch):
                await changes.put(changed(f"{number}", len(times) + 1, kind))
            since_s = loop.time()
            await anext(batches)
            times.append(loop.time() - since_s)
        await batches.aclose()
        return times

    waited = [seconds > REST_S / 2 for seconds in run_virtually(run())]
    assert waited == [False, True, False, False, True]


def test_a_new_object_takes_along_what_waits() -> None:
    async def run() -> list[str]:
        changes = ChangeQueue()
        batches = changes.batches()
        await changes.put(changed("first", 1))
        await anext(batches)
        await changes.put(changed("waits", 2))
        await changes.put(changed("new", 3, "ADDED"))
        batch = await anext(batches)
        await batches.aclose()
        return [change.object.metadata.uid for change in batch]

    assert run_virtually(run()) == ["waits", "new"]


def test_a_watch_is_not_read_on_while_too_much_waits() -> None:
    async def run() -> bool:
        changes = ChangeQueue()
        for number in range(WAITING_MAX - 1):
            await changes.put(changed(f"{number}", 1))
        last = asyncio.ensure_future(changes.put(changed("last", 1)))
        await asyncio.sleep(60)
        held = not last.done()
        batches = changes.batches()
        await anext(batches)
        await last
        await batches.aclose()
        return held

    assert run_virtually(run())
