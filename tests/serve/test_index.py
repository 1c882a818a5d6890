"""The index finds what a search through all events finds, and no more."""

from __future__ import annotations

import pytest

from tests.notify.events import heard, submitted
from tests.parts.growth import entries
from tests.parts.sample import ENTRIES
from tidegate.cli.ledger.name_lookup import entries_naming
from tidegate.cli.ledger.reading import open_reader
from tidegate.contracts.decisions import WorkloadDeactivated
from tidegate.contracts.facts import WorkloadRemoved
from tidegate.serve.ledger.index import IndexedLedger, IndexedReader, WorkloadIndex

KEYS = sorted(
    {event.split('"')[0] for entry in ENTRIES for event in entry.payload.split('"workload":"')[1:]}
)


@pytest.mark.parametrize("key", KEYS)
def test_the_index_finds_what_a_search_finds(ledger: str, key: str) -> None:
    index = WorkloadIndex()
    for entry in ENTRIES:
        index.add(entry)
    with open_reader(ledger, reports=False) as reader:
        fields = reader._replace(ledger=IndexedLedger(reader.ledger, index))
        indexed = IndexedReader(*fields)
        name = key.partition("/")[2]
        assert list(indexed.submissions(name)) == list(reader.submissions(name))
        assert entries_naming(indexed, key) == entries_naming(reader, key)
        early = reader._replace(end=50)
        assert entries_naming(indexed._replace(end=50), key) == entries_naming(early, key)


def test_what_the_index_has_not_come_to_is_searched(ledger: str) -> None:
    with open_reader(ledger, reports=False) as reader:
        behind = IndexedReader(
            *reader._replace(ledger=IndexedLedger(reader.ledger, WorkloadIndex()))
        )
        assert entries_naming(behind, KEYS[0]) == entries_naming(reader, KEYS[0])
        assert entries_naming(behind, KEYS[0])


def test_nothing_of_a_workload_that_was_deactivated_stays_once_it_is_gone() -> None:
    index = WorkloadIndex()
    deactivated = WorkloadDeactivated(
        at_us=1, workload="a/one", reason="r", message='of "b/two" and "c/three"'
    )
    gone = WorkloadRemoved(at_us=2, workload="a/one")
    for event in heard(submitted("a/one"), deactivated):
        index.add(event.entry)
    assert entries(index)["WorkloadIndex._inactive"] == 1
    for event in heard(gone, first=3):
        index.add(event.entry)
    assert entries(index)["WorkloadIndex._inactive"] == 0
