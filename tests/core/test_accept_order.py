"""Messages skipped, repeated, reordered, unreadable, and streams that begin anew."""

from __future__ import annotations

from hashlib import sha256

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.core.telling import JOBS, Bus, flavor, job, types
from tests.parts.drawn import drawn
from tidegate.contracts import observations
from tidegate.contracts.codec import PAYLOAD_BYTES_MAX
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.facts import GapObserved, ObservationRefused, StreamReplaced
from tidegate.core.state.dedup import Dedup

NAMES = [f"f{number}" for number in range(12)]


def test_a_hole_is_reported_and_what_follows_counts() -> None:
    bus = Bus()
    first, _, third = (bus.message(flavor(name)) for name in ("a", "b", "c"))
    facts = bus.take([first, third])
    assert types(facts) == ["FlavorDefined", "GapObserved", "FlavorDefined"]
    assert isinstance(facts[1], GapObserved)
    assert (facts[1].expected_seq, facts[1].found_seq) == (2, 3)
    assert bus.position == third.at


def test_a_ledger_that_finds_the_beginning_gone_tells_a_hole() -> None:
    bus = Bus(seq=41)
    assert types(bus.tell(flavor())) == ["GapObserved", "FlavorDefined"]


def test_what_came_before_gives_nothing() -> None:
    bus = Bus()
    message = bus.message(flavor())
    assert types(bus.take([message, message])) == ["FlavorDefined"]
    assert bus.take([message]) == []
    assert bus.position == message.at


def test_another_stream_is_reported_but_not_the_very_first() -> None:
    bus = Bus()
    old = bus.message(flavor("a"))
    assert types(bus.take([old])) == ["FlavorDefined"]
    bus.incarnation, bus.seq = 2, 0
    facts = bus.tell(flavor("b"))
    assert facts[0] == StreamReplaced(at_us=bus.at_us, incarnation=2)
    assert types(facts[1:]) == ["FlavorDefined"]
    assert bus.position == Position(2, 1)


def test_a_stream_made_anew_with_an_earlier_creation_time_is_heard() -> None:
    bus = Bus(incarnation=9)
    bus.tell(flavor("a"))
    bus.incarnation, bus.seq = 3, 0
    assert types(bus.tell(flavor("b"))) == ["StreamReplaced", "FlavorDefined"]
    assert bus.position == Position(3, 1)


def test_of_two_streams_observed_at_once_the_known_one_counts_first() -> None:
    bus = Bus(incarnation=9)
    bus.tell(flavor("a"))
    old = bus.message(flavor("b"))
    bus.incarnation, bus.seq = 3, 0
    facts = bus.take([bus.message(flavor("c")), old])
    assert types(facts) == ["FlavorDefined", "StreamReplaced", "FlavorDefined"]
    assert bus.position == Position(3, 1)


def test_another_stream_that_lost_its_beginning_is_a_hole_too() -> None:
    bus = Bus()
    bus.tell(flavor("a"))
    bus.incarnation, bus.seq = 2, 5
    assert types(bus.tell(flavor("b"))) == ["StreamReplaced", "GapObserved", "FlavorDefined"]


def test_bytes_that_are_no_observation_are_refused_and_the_rest_goes_on() -> None:
    bus = Bus()
    bad = msgspec.structs.replace(bus.message(flavor("a")), payload=b'{"type":"Flood/1"}')
    refused, defined = bus.take([bad, bus.message(flavor("b"))])
    assert isinstance(refused, ObservationRefused)
    assert refused.digest == sha256(bad.payload).hexdigest()
    assert refused.subject == bad.subject
    assert "Flood/1" in refused.error
    assert types([defined]) == ["FlavorDefined"]


def test_what_could_not_be_recorded_is_refused() -> None:
    bus = Bus()
    large = job(message="x" * (PAYLOAD_BYTES_MAX - 2_000))
    assert types(bus.tell(large)) == ["ObservationRefused"]


def test_an_object_that_ingest_could_not_read_names_its_workload() -> None:
    bus = Bus().opened()
    bus.tell(job())
    observation = observations.ObjectRefused(
        name="train", uid="uid-train", version=11, session="a", resource=JOBS, error="no podsets"
    )
    [refused] = bus.tell(observation)
    assert isinstance(refused, ObservationRefused)
    assert (refused.workload, refused.error) == ("team/job-uid-train", "no podsets")


deliveries = st.lists(
    st.tuples(st.integers(1, 6), st.randoms(use_true_random=False), st.integers(0, 3)), min_size=12
)


@drawn(100)
@given(deliveries)
def test_repeated_and_reordered_deliveries_give_the_same_facts(
    pulls: list[tuple[int, object, int]],
) -> None:
    clean, bus = Bus(), Bus()
    messages = [bus.message(flavor(name)) for name in NAMES]
    facts = []
    for count, order, again in pulls:
        done = bus.position.seq
        batch = messages[max(0, done - again) : done + count]
        shuffled = msgspec.json.decode(msgspec.json.encode(batch), type=list[Message])
        order.shuffle(shuffled)  # type: ignore[attr-defined] # Hypothesis' Random
        facts += bus.take(shuffled)
    assert facts == clean.take(messages)[: len(facts)]
    assert bus.position.seq == len(facts)


def test_nothing_is_remembered_of_a_message_but_what_it_says() -> None:
    bus = Bus()
    bus.tell(flavor())
    bus.state.dedup = Dedup()  # a restart
    assert bus.tell(flavor(version=11)) == []
