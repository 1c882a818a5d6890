"""What a server of two partitions answers is what the command line prints, and each thing once."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.serve.conftest import running
from tests.serve.partitions.conftest import NO_AUTH
from tests.serve.partitions.world import HOMES, WORKLOADS
from tests.serve.test_answers import job, printed, without_ours

SAME = (
    ("why team/job-uid-second-waits", "workloads/team/second-waits/why?detail=usual"),
    ("why team/job-uid-first-runs", "workloads/team/first-runs/why?detail=usual"),
    ("why team/job-uid-first-waits --brief", "workloads/team/first-waits/why?detail=brief"),
    ("why-not team/job-uid-first-waits", "workloads/team/first-waits/why-not"),
    ("why-not team/job-uid-lone-waits", "workloads/team/lone-waits/why-not"),
    ("show queues", "queues"),
    ("show tree", "tree"),
    ("show tree second", "tree?of=second"),
    ("show shares", "shares"),
    ("show usage", "usage"),
    ("show usage first", "usage?queue=first"),
    ("show positions", "positions"),
    ("show positions first", "positions?queue=first"),
    ("show positions --as-of 2025-06-15T15:06:52Z", "positions?asOf=2025-06-15T15:06:52Z"),
    ("show queues --as-of 2025-06-15T15:06:53Z", "queues?asOf=2025-06-15T15:06:53Z"),
    ("show budgets --as-of 2025-06-15T15:06:53Z", "budgets?asOf=2025-06-15T15:06:53Z"),
    ("events --tail 9", "events?limit=9"),
    ("events --tail 5 --type WorkloadAdmitted", "events?limit=5&type=WorkloadAdmitted"),
    ("events --tail 9 --type ClusterQueueDefined", "events?limit=9&type=ClusterQueueDefined"),
    ("report waits", "reports/waits"),
    ("report quota_history", "reports/quota_history"),
    ("report waits --as-of 2025-06-15T15:06:52Z", "reports/waits?asOf=2025-06-15T15:06:52Z"),
    (
        "what-if config --partition 1 --set clusterqueue/second.cpu=8",
        "what-if?set=clusterqueue/second.cpu=8",
    ),
)
ALONE = ("earlier",)
"""What the command says of a story without earlier ones, and the server leaves out."""


def items(answer: Any) -> Any:  # noqa: ANN401 - whatever JSON can say
    value = answer.json()
    return value["items"] if isinstance(value, dict) and "items" in value else value


def without_empty(value: Any) -> Any:  # noqa: ANN401 - as above
    return (
        {name: value for name, value in value.items() if name not in ALONE or value}
        if isinstance(value, dict)
        else value
    )


@pytest.mark.parametrize(("command", "path"), SAME, ids=[path for _, path in SAME])
def test_both_say_the_same(moved: str, both: TestClient, command: str, path: str) -> None:
    answer = both.get(f"/v1/{path}")
    assert answer.status_code == 200, answer.text
    value = without_ours(without_empty(items(answer)))
    assert value == without_ours(without_empty(json.loads(printed(moved, f"{command} -o json"))))
    assert value


def test_after_a_move_each_workload_is_there_once(both: TestClient) -> None:
    for text in ("job", "first", "to-"):
        hits = items(both.get(f"/v1/search?text={text}"))
        keys = Counter((hit["kind"], hit["namespace"], hit["name"]) for hit in hits)
        assert keys
        assert {*keys.values()} == {1}, text
    running_now = [row["workload"] for row in items(both.get("/v1/running"))]
    waiting = [row["workload"] for row in items(both.get("/v1/positions"))]
    assert sorted(running_now + waiting) == sorted(WORKLOADS)
    assert [row["name"] for row in items(both.get("/v1/queues"))] == sorted(HOMES)


def test_at_no_moment_anything_is_shown_twice(both: TestClient) -> None:
    events = items(both.get("/v1/events?limit=1000"))
    assert {event["partition"] for event in events} == {0, 1}
    seen = set[str]()
    for event in events:
        moment = f"asOf={event['partition']}/{event['seq']}"
        for path, field in (("queues", "name"), ("running", "workload"), ("positions", "workload")):
            names = [row[field] for row in items(both.get(f"/v1/{path}?{moment}"))]
            assert len(names) == len({*names}), (path, moment)
            seen |= {*names}
    assert seen == WORKLOADS | {*HOMES}


def test_an_event_of_one_partition_is_a_moment_of_both(both: TestClient) -> None:
    released = both.get("/v1/queues?asOf=0/45")
    assert [row["name"] for row in items(released)] == ["lone", "second"]
    assert released.headers["tidegate-position"] == "0=45,1=29"
    assert (released.json()["seq"], released.json()["position"]) == (74, "0=45,1=29")
    again = both.get("/v1/queues?asOf=0=45,1=29")
    assert again.json() == released.json()
    taken = both.get("/v1/queues?asOf=1/32")
    assert taken.headers["tidegate-position"] == "0=45,1=32"
    assert [row["name"] for row in items(taken)] == ["first", "lone", "second"]


def test_a_story_goes_on_in_the_other_partition(both: TestClient) -> None:
    story = both.get("/v1/workloads/team/first-runs/why").json()
    assert (story["partition"], story["phase"], story["clusterQueue"]) == (1, "admitted", "first")
    assert [partition["partition"] for partition in story["earlier"]] == [0]
    text = both.get("/v1/workloads/team/first-runs/why?format=table").text
    headings = re.findall(r"^team/.*$", text, re.MULTILINE)
    assert [line.rpartition(", ")[2] for line in headings] == ["partition 0", "partition 1"]


@pytest.mark.parametrize(("name", "starts"), [("second", False), ("first", False)])
def test_a_dry_run_is_decided_where_its_queue_leads(
    both: TestClient, name: str, *, starts: bool
) -> None:
    answer = both.post("/v1/namespaces/team/dry-run", json=job("3", queue=f"to-{name}"))
    events_since = answer.json()
    assert (events_since["clusterQueue"], events_since["startsNow"]) == (name, starts)
    fits = both.post("/v1/namespaces/team/dry-run", json=job("1", queue=f"to-{name}"))
    assert fits.json()["startsNow"]


@pytest.mark.parametrize(
    "moment", ["41", "2/1", "1/4000", "0=0,1=0", "x", "1=", "0=99999999999999999999"]
)
def test_what_is_no_moment_of_all_is_refused(both: TestClient, moment: str) -> None:
    answer = both.get(f"/v1/queues?asOf={moment}")
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest"), answer.text


def test_a_seq_of_no_partition_is_no_part_of_what_if(both: TestClient) -> None:
    answer = both.get("/v1/what-if?set=clusterqueue/second.cpu=8&from=20")
    assert answer.status_code == 400
    assert "several partitions" in answer.json()["message"]


def test_the_ledger_says_how_far_each_partition_is(both: TestClient) -> None:
    answer = both.get("/v1/ledger").json()
    each = answer["partitions"]
    assert [partition["partition"] for partition in each] == [0, 1]
    assert answer["ledgerId"] == "ledger-0,ledger-1"
    for name in ("headSeq", "verifiedSeq", "turns"):
        assert answer[name] == sum(partition[name] for partition in each) > 0
    assert answer["position"] == ",".join(
        f"{partition['partition']}={partition['headSeq']}" for partition in each
    )
    assert (answer["headHash"], answer["firstAt"]) == ("", "2025-06-15T15:06:40Z")
    assert all(partition["headHash"] for partition in each)


@pytest.mark.parametrize("partition", [0, 1])
def test_one_partition_is_served_as_ever(moved: str, partition: int) -> None:
    with running(moved, *NO_AUTH, partition=partition) as client:
        queues = client("").get("/v1/queues")
        ledger = client("").get("/v1/ledger").json()
        events = client("").get("/v1/events?after=2&limit=1").json()
    assert [row["name"] for row in items(queues)] == [["lone"], ["first", "second"]][partition]
    assert "tidegate-position" not in queues.headers
    assert "position" not in queues.json()
    assert (ledger["ledgerId"], "partitions" in ledger) == (f"ledger-{partition}", False)
    assert [(event["partition"], event["seq"]) for event in events] == [(partition, 3)]
    assert "position" not in events[0]


@pytest.mark.parametrize("name", HOMES)
def test_kueues_visibility_shows_each_queue_from_its_partition(both: TestClient, name: str) -> None:
    root = "/apis/visibility.kueue.x-k8s.io/v1beta2"
    for path in (f"clusterqueues/{name}", f"namespaces/team/localqueues/to-{name}"):
        value = both.get(f"{root}/{path}/pendingworkloads").json()["items"]
        assert [obj["metadata"]["name"] for obj in value] == [f"job-uid-{name}-waits"]
