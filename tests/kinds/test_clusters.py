"""The annotations that say where a flavor exists and where jobs run."""

from __future__ import annotations

import pytest

from tidegate.errors import UndecodableError
from tidegate.kinds.kueue_api.queues.own_annotations import clusters_of, clusters_text, placement_of
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import CLUSTERS, PLACEMENT


def _flavor(text: str) -> ObjectMeta:
    return ObjectMeta(annotations={CLUSTERS: text})


def test_clusters_are_read_with_their_stop_policies_and_written_again() -> None:
    assert clusters_of(ObjectMeta()) == ((), {})
    read = clusters_of(_flavor("west = Hold, east,north=HoldAndDrain, south=None"))
    assert read == (
        ("east", "north", "south", "west"),
        {"north": "HoldAndDrain", "west": "Hold"},
    )
    text = clusters_text(*read)
    assert text == "east,north=HoldAndDrain,south,west=Hold"
    assert clusters_of(_flavor(text)) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "east,",
        "east,east",
        "east=Stop",
        "east=",
        "East",
        "a.b",
        "e@w",
        "x" * 64,
        ",".join(f"c{number}" for number in range(65)),
    ],
)
def test_clusters_that_make_no_sense_refuse_the_flavor(text: str) -> None:
    with pytest.raises(UndecodableError, match=CLUSTERS):
        clusters_of(_flavor(text))


def test_a_queue_says_where_its_jobs_may_run() -> None:
    assert placement_of(ObjectMeta()) == "stay"
    assert placement_of(ObjectMeta(annotations={PLACEMENT: "any"})) == "any"
    with pytest.raises(UndecodableError, match="'east' is none of stay, any"):
        placement_of(ObjectMeta(annotations={PLACEMENT: "east"}))
