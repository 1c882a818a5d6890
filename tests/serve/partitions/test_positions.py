"""How far a client is: a position for each partition, from which no event is missed or told twice.

A client that knows only numbers, and one that began when there was one partition, go on.
"""

from __future__ import annotations

import pytest
import typer
from starlette.testclient import TestClient

from tidegate.cli.ledger.reading import open_reader
from tidegate.serve.ledger.partitions.positions import (
    event_count,
    parse_position,
    partitions_as_of,
    position_text,
)
from tidegate.serve.refusals import RefusalError


def test_pages_behind_positions_are_the_whole_history(both: TestClient) -> None:
    whole = both.get("/v1/events?limit=1000").json()
    assert len(whole) == both.get("/v1/ledger").json()["headSeq"]
    places = [(event["at"], event["partition"], event["seq"]) for event in whole]
    assert places == sorted(places)
    paged, after = list[tuple[int, int]](), "0"
    while page := both.get(f"/v1/events?limit=7&after={after}").json():
        paged += [(event["partition"], event["seq"]) for event in page]
        after = page[-1]["position"]
    assert paged == [(event["partition"], event["seq"]) for event in whole]
    assert after == both.get("/v1/queues").headers["tidegate-position"]


def test_an_answer_is_new_when_any_partition_is(both: TestClient) -> None:
    now = both.get("/v1/queues")
    known = {"If-None-Match": now.headers["etag"]}
    assert both.get("/v1/queues", headers=known).status_code == 304
    tags = {
        both.get(f"/v1/tree?asOf={moment}").headers["etag"]
        for moment in ("0=45,1=29", "0=44,1=30", "0=46,1=28")
    }
    assert len(tags) == 3, "as many events, and other ones"


@pytest.mark.parametrize(
    ("text", "partitions", "position"),
    [
        ("41", (0,), {0: 41}),
        ("41", (3,), {3: 41}),
        ("41", (0, 1), {0: 41, 1: 0}),
        ("0=41,1=7", (0, 1), {0: 41, 1: 7}),
        ("0=41,1=7", (1,), {1: 7}),
        ("0=41", (0, 1), {0: 41, 1: 0}),
        ("0=41,1=7", (0, 1, 2), {0: 41, 1: 7, 2: 0}),
        ("", (0, 1), None),
        ("x", (0,), None),
        ("0=,1=7", (0, 1), None),
        ("0=41;1=7", (0, 1), None),
        ("-1", (0,), None),
        ("٤١", (0, 1), None),
        ("0=٤١", (0, 1), None),
        ("0=9223372036854775807", (0, 1), {0: 9223372036854775807, 1: 0}),
        ("0=9223372036854775808,1=7", (0, 1), None),
    ],
)
def test_a_position_is_read(
    text: str, partitions: tuple[int, ...], position: dict[int, int] | None
) -> None:
    assert parse_position(text, partitions) == position


def test_a_position_beyond_any_ledger_is_refused(both: TestClient) -> None:
    for asked in ("events?after=", "queues?asOf="):
        assert both.get(f"/v1/{asked}0=9223372036854775808,1=7").status_code == 400, asked


def test_a_position_of_one_partition_is_its_seq() -> None:
    assert (position_text({0: 41}), position_text({3: 7}), position_text({0: 41, 1: 7})) == (
        "41",
        "7",
        "0=41,1=7",
    )
    assert (event_count({0: 41}), event_count({0: 41, 1: 7})) == (41, 48)


@pytest.mark.parametrize("asked", ["0=45,1=29", "1/29", "0/45"])
def test_a_server_that_is_behind_asks_for_another_try(moved: str, asked: str) -> None:
    """Another server of the same ledger gave this position with the first part of a list."""
    with open_reader(moved) as reader:
        others = tuple(each._replace(end=28) for each in reader.others)
        behind = reader._replace(end=44, others=others)
        with pytest.raises(RefusalError, match="has not read event") as refused:
            partitions_as_of(behind, asked, "asOf")
        assert (refused.value.status, refused.value.retry_after_s) == (503, 1)
        assert partitions_as_of(behind, "0=44,1=28", "asOf").end == 44
        newest = reader.others[0].end
        for beyond in (f"0=45,1={newest + 1}", f"1/{newest + 1}"):
            with pytest.raises(typer.BadParameter):
                partitions_as_of(reader, beyond, "asOf")


def test_a_server_of_one_partition_asks_for_another_try_too(ledger: str) -> None:
    with open_reader(ledger) as reader:
        behind = reader._replace(end=reader.end - 1)
        with pytest.raises(RefusalError, match="has not read event"):
            partitions_as_of(behind, str(reader.end), "asOf")
        with pytest.raises(typer.BadParameter):
            partitions_as_of(behind, str(reader.end + 1), "asOf")
