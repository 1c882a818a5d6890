"""No subscriber gets a message that no ledger wrote, whatever it claims; the others go on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bus.test_events import follow
from tests.bus.worlds import World, entries, nats_world, said, simulated_world
from tests.parts.drawn import drawn
from tidegate.bus import provenance
from tidegate.bus.headers import MESSAGE_ID, event_headers, parse_event
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.jetstream.keys import LEDGER
from tidegate.bus.provenance import Provenance
from tidegate.contracts.chain import START, digest_of
from tidegate.contracts.entry import Entry, Position, Published

pytestmark = pytest.mark.timeout(180)
TRUE = entries(1, 9)
LIE = replace(TRUE[5], at_us=1, payload='{"at_us":1}')
FORGED = {
    "the next seq, with the hash of the newest": replace(LIE, hash=TRUE[4].hash),
    "the next seq, without a hash": replace(LIE, hash=b""),
    "a seq far ahead": replace(LIE, seq=900),
    "a seq that was told": replace(LIE, seq=3),
    "no time in it": replace(LIE, payload="{}"),
    "no JSON": replace(LIE, payload="{"),
}


async def publish(world: World, first: int, last: int, ahead: int = 0) -> None:
    _, counts = await world.bus.event_publisher().last_published(Position())
    moved = Position(counts.incarnation, ahead)
    await world.bus.event_publisher().publish("led", moved, TRUE[first - 1 : last])


async def forge(world: World, row: Entry, ledger_id: str = "led") -> None:
    headers = event_headers(ledger_id, row, Position())
    await world.forge(
        row, {**headers, MESSAGE_ID: f"forged/{row.seq}/{row.payload}/{row.hash.hex()}"}
    )


@pytest.mark.parametrize("how", FORGED)
async def test_forged_events_are_delivered_to_no_reader(world: World, how: str) -> None:
    await publish(world, 1, 5)
    await forge(world, FORGED[how])
    assert await world.bus.event_feed().newest() == ("led", 5)
    await publish(world, 6, 8, ahead=1)
    assert await world.bus.event_feed().newest() == ("led", 8)
    messages = await follow(world.bus.event_feed(), 0, 8)
    assert [message.payload for message in messages] == [said(n) for n in range(1, 9)]
    assert [message.seq for message in await follow(world.bus.event_feed(), 5, 3)] == [6, 7, 8]


@pytest.mark.parametrize("how", FORGED)
async def test_a_follower_is_not_sent_what_is_forged_meanwhile(world: World, how: str) -> None:
    await publish(world, 1, 5)
    async with aclosing(world.bus.event_feed().follow(4)) as following:  # type: ignore[type-var]
        numbers = [(await anext(following)).seq]
        await forge(world, FORGED[how])
        await publish(world, 6, 7, ahead=1)
        numbers += [(await anext(following)).seq for _ in range(2)]
    assert numbers == [5, 6, 7]


def test_what_is_published_again_is_known_by_the_hashes_of_the_newest_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(provenance, "HASHES_MAX", 2)
    proven = Provenance()
    for at, entry in enumerate(TRUE, 1):
        headers = event_headers("led", entry, Position())
        message = parse_event(headers, entry.subject, entry.payload.encode())
        assert message is not None
        assert proven.verify(message, Position(1, at)) == (message,)
        again = replace(message, seq=max(message.seq - 1, 1), hash=TRUE[max(at - 2, 0)].hash)
        assert proven.is_known(again)
    assert not proven.is_known(replace(again, seq=1, hash=TRUE[0].hash))


@pytest.fixture(params=["simulated", "nats"])
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[World, None]:
    async with (
        simulated_world()
        if request.param == "simulated"
        else nats_world(tmp_path) as actual_nats_world
    ):
        assert isinstance(actual_nats_world.bus, NatsBus)
        await actual_nats_world.bus.register().claim(LEDGER, "led")
        yield actual_nats_world


async def test_another_ledger_than_the_registered_one_cannot_follow_it(served: World) -> None:
    await publish(served, 1, 5)
    for row in TRUE[:3]:
        await forge(served, row, ledger_id="evil")
    assert await served.bus.event_feed().newest() == ("led", 5)
    await publish(served, 6, 6, ahead=3)
    assert {message.ledger_id for message in await follow(served.bus.event_feed(), 0, 6)} == {"led"}


async def test_a_witness_names_the_places_of_forged_events(served: World) -> None:
    assert isinstance(served.bus, NatsBus)
    await publish(served, 1, 5)
    for lie in FORGED.values():
        await forge(served, lie)
    await publish(served, 6, 7, ahead=6)
    witness = await served.bus.witness()
    assert witness is not None
    assert (witness.seq, witness.hash) == (7, TRUE[6].hash)
    assert witness.forged == (6, 7, 8, 9, 10, 11)


def as_published(row: Entry) -> Published:
    message = parse_event(event_headers("led", row, Position()), row.subject, row.payload.encode())
    assert message is not None
    return message


LIES = st.builds(
    replace,
    st.sampled_from(TRUE),
    seq=st.integers(1, 12),
    payload=st.sampled_from(['{"at_us":1}', '{"at_us":2}', "{}"]),
    hash=st.sampled_from([b"", START, *(row.hash for row in TRUE)]),
)


@drawn(80)
@given(st.lists(st.tuples(st.integers(2, 8), LIES), max_size=4))
def test_lies_between_what_is_published_change_nothing_of_it(
    lies: list[tuple[int, Entry]],
) -> None:
    stream = list[Entry]()
    for row in TRUE:
        stream += [row, *(lie for behind, lie in lies if behind == row.seq)]
    forged = list[int]()
    proven = Provenance(lambda _, at: forged.append(at.seq))
    heard = list[int]()
    for place, row in enumerate(stream, 1):
        heard += [message.seq for message in proven.verify(as_published(row), Position(1, place))]
    proven.reject_suspect()
    assert heard == [row.seq for row in TRUE]
    assert not {place for place, row in enumerate(stream, 1) if row in TRUE} & set(forged)


def test_an_entry_that_follows_though_another_wrote_it_yields_to_what_goes_on() -> None:
    clever = replace(LIE, hash=digest_of(TRUE[4].hash, LIE))
    proven = Provenance()
    rows = [*TRUE[:5], clever, *TRUE[5:]]
    heard = [
        message.hash
        for place, row in enumerate(rows, 1)
        for message in proven.verify(as_published(row), Position(1, place))
    ]
    assert heard == [row.hash for row in rows]
    assert proven.hash == TRUE[-1].hash
