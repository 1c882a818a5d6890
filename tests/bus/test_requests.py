"""JetStream's own answers, by number: what the simulated server must say as a real one does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from tests.bus.worlds import NatsWorld, nats_world, simulated_world
from tidegate.bus.jetstream.wire.reader import StreamReader
from tidegate.bus.jetstream.wire.requests import (
    FULL_CODES,
    NOT_FOUND_CODES,
    WRONG_ID_CODE,
    WRONG_SEQUENCE_CODE,
    JetStream,
    OutgoingMessage,
)
from tidegate.contracts.entry import Position
from tidegate.errors import BusRefusedError, BusUnreachableError

pytestmark = pytest.mark.timeout(180)
NAME, SUBJECT = "CONTRACT", "contract.a"


@pytest.fixture(params=["simulated", "nats"])
async def js(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[JetStream, None]:
    world = simulated_world() if request.param == "simulated" else nats_world(tmp_path)
    async with world as actual_nats_world:
        await make(actual_nats_world, subjects=["contract.>"], discard="new", max_msgs=3)
        yield actual_nats_world.js


async def make(world: NatsWorld, **config: object) -> None:
    body = {"name": NAME, "storage": "file", "allow_direct": True, **config}
    await world.js.request(f"STREAM.CREATE.{NAME}", body, msgspec.Raw)


async def refused(js: JetStream, *messages: OutgoingMessage) -> int:
    with pytest.raises(BusRefusedError) as caught:
        await js.publish_chain(messages)
    return caught.value.code


def outgoing(text: str, subject: str = SUBJECT, **headers: str) -> OutgoingMessage:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return OutgoingMessage(subject, text.encode(), {"Nats-Msg-Id": text, **named})


async def test_what_is_not_there_is_said_by_number(js: JetStream) -> None:
    assert await js.stream_info("NOSUCH") is None
    for verb in ("STREAM.PURGE.NOSUCH", f"CONSUMER.DELETE.{NAME}.nosuch"):
        with pytest.raises(BusRefusedError) as caught:
            await js.request(verb, {}, msgspec.Raw)
        assert caught.value.code in NOT_FOUND_CODES
    with pytest.raises(BusUnreachableError):
        await js.publish(outgoing("a", "no.stream"))
    assert await js.newest_message(NAME, SUBJECT) is None


async def test_a_known_id_is_a_duplicate_and_stored_once(js: JetStream) -> None:
    first, again = await js.publish(outgoing("a")), await js.publish(outgoing("a"))
    assert (first.seq, first.duplicate, again.seq, again.duplicate) == (1, False, 1, True)
    assert (await js.existing_stream(NAME)).state.last_seq == 1


async def test_a_chain_ends_where_one_of_it_is_not_stored(js: JetStream) -> None:
    assert (await js.publish_chain([outgoing("a"), outgoing("b")])).seq == 2
    assert await refused(js, outgoing("a"), outgoing("c")) == WRONG_ID_CODE  # "a" is not the newest
    assert (await js.existing_stream(NAME)).state.messages == 2
    assert (
        await js.publish_chain([outgoing("b"), outgoing("c")])
    ).seq == 3  # "b" was, and is not stored again
    assert await refused(js, outgoing("d"), outgoing("e")) in {*FULL_CODES, WRONG_ID_CODE}
    assert (await js.existing_stream(NAME)).state.messages == 3


async def test_a_condition_on_the_end_holds_or_refuses_with_the_end(js: JetStream) -> None:
    await js.publish(outgoing("a", Nats_Expected_Last_Sequence="0"))
    wrong = outgoing("b", Nats_Expected_Last_Sequence="0")
    assert await refused(js, wrong) == WRONG_SEQUENCE_CODE
    assert await refused(js, wrong, outgoing("c")) == WRONG_ID_CODE
    with pytest.raises(BusRefusedError, match=r"sequence: 1 "):
        await js.publish(wrong)


async def test_a_condition_on_a_subject_counts_that_subject_alone(js: JetStream) -> None:
    await js.publish(outgoing("a", "contract.b"))
    await js.publish(outgoing("b", Nats_Expected_Last_Subject_Sequence="0"))
    wrong = outgoing("c", Nats_Expected_Last_Subject_Sequence="1")
    assert await refused(js, wrong) == WRONG_SEQUENCE_CODE
    assert (await js.publish(outgoing("d", Nats_Expected_Last_Subject_Sequence="2"))).seq == 3


async def test_a_purge_keeps_the_end_and_one_beyond_it_moves_it(js: JetStream) -> None:
    await js.publish_chain([outgoing("a"), outgoing("b")])
    assert await js.purge_below(NAME, 3) == 2
    state = (await js.existing_stream(NAME)).state
    assert (state.messages, state.last_seq, state.first_seq) == (0, 2, 3)
    await js.purge_below(NAME, 9)
    assert (await js.existing_stream(NAME)).state.last_seq == 8


async def test_the_newest_message_comes_with_its_place_and_headers(js: JetStream) -> None:
    await js.publish_chain([outgoing("a"), outgoing("b", "contract.b")])
    message = await js.newest_message(NAME, "contract.>")
    assert message is not None
    headers = message.headers or {}
    assert (message.data, headers["Nats-Sequence"], headers["Nats-Msg-Id"]) == (b"b", "2", "b")


async def test_a_reader_hears_only_its_subject_and_the_end_of_its_stream(js: JetStream) -> None:
    reader = StreamReader(js, NAME, SUBJECT)
    await js.publish_chain([outgoing("a"), outgoing("b", "contract.b"), outgoing("c")])
    first = await reader.read(Position(), 2, 5)
    while len(first) < 2:
        first += await reader.read(first[-1].at, 2, 5)
    assert [delivered.payload for delivered in first] == [b"a", b"c"]
    waiting = asyncio.create_task(reader.read(first[-1].at, 2, 30))
    await asyncio.sleep(0)
    await js.request(f"STREAM.DELETE.{NAME}", {}, msgspec.Raw)
    assert await waiting == []  # long before its time is over
    with pytest.raises(BusUnreachableError, match="no stream"):
        await reader.read(first[-1].at, 2, 5)
    await reader.close()


@pytest.mark.parametrize("form", ["simulated", "nats"])
async def test_a_message_outlives_its_time_nowhere(form: str, tmp_path: Path) -> None:
    async with simulated_world() if form == "simulated" else nats_world(tmp_path) as world:
        await make(world, subjects=["contract.>"], max_msgs_per_subject=1, allow_msg_ttl=True)
        await world.js.publish(outgoing("a"))
        await world.js.publish(outgoing("b", Nats_TTL="1s"))
        assert (await world.js.existing_stream(NAME)).state.messages == 1
        while await world.js.newest_message(NAME, SUBJECT) is not None:
            await asyncio.sleep(0.05)
        assert (await world.js.existing_stream(NAME)).state.last_seq == 2
