"""A message of EVENTS gives the row that it was published from, whichever partition's it is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tidegate.bus.headers import entry_of, event_headers, parse_event, row_of
from tidegate.contracts.chain import GENESIS, digest_of, seal
from tidegate.contracts.decisions import WorkloadAdmitted
from tidegate.contracts.entry import Position, Published
from tidegate.contracts.facts import TimePassed

EVENTS = (
    TimePassed(at_us=5),
    WorkloadAdmitted(at_us=7, workload="a.b/job", cluster_queue="team", queue="main"),
)


@pytest.mark.parametrize("partition", [0, 1, 12])
def test_a_row_comes_back_from_its_message(partition: int) -> None:
    before = genesis = replace(GENESIS, partition=partition)
    for entry in seal(genesis, 3, "prod.eu", EVENTS):
        headers = event_headers("ledger", entry, Position(1, 0))
        message = parse_event(headers, entry.subject, entry.payload.encode())
        assert message is not None
        assert entry_of(message) == entry
        assert digest_of(before.hash, entry_of(message)) == entry.hash
        before = entry


@pytest.mark.parametrize(
    "subject",
    [
        "tidegate",
        "tidegate.local",
        "tidegate.local.partition.1",
        *(f"tidegate.local.partition.{number}.e.K" for number in ("x", "-1", "1_0", "1000")),
    ],
)
def test_another_subject_is_no_row(subject: str) -> None:
    assert row_of(Published("ledger", 1, subject, b'{"at_us":1}')) is None
