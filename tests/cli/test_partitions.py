"""``tidegate partitions``: how far a tree's move is, what hangs, and what is written on objects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from typer.testing import CliRunner, Result

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.cli.stage import staged
from tests.cli.two_partitions import write
from tests.core.telling import JOBS, beat
from tests.scheduler.test_handovers import Cluster
from tests.scheduler.test_partitions import LOCAL_QUEUES, Site, play
from tests.scheduler.test_partitions import QUEUES as QUEUES_HEARD
from tidegate.cli.live.follow import LedgerFollower
from tidegate.cli.moves.state import move_remedy, moves_of
from tidegate.cli.moves.waiting import Progress, current_partition, progress_of, wait_until_moved
from tidegate.cli.objects.api_client import ApiClient, open_api
from tidegate.cli.program import build_app
from tidegate.contracts.fact_kinds.definitions import ClusterQueueDefined
from tidegate.contracts.fact_kinds.handovers import MoveRequested
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.errors import MoveHangsError
from tidegate.model.quota import ClusterQueueSpec

__all__ = ["staged"]
KUEUE = "kueue.x-k8s.io/v1beta2"
QUEUES, COHORTS = f"/apis/{KUEUE}/clusterqueues", f"/apis/{KUEUE}/cohorts"
MOVE_TO, PARTITION = "tidegate.dev/move-to", "tidegate.dev/partition"
RESOURCES = (QUEUES_HEARD, LOCAL_QUEUES, JOBS)
FOREVER_US = 10**15
TAKEN = "partition 1 has taken the tree, and not all jobs are listed yet"
KEYS = {"ClusterQueue/first"}


class Watched:
    """A move between two schedulers, as the command reads it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.beats = cluster, 0
        ledgers = enumerate(cluster.site.ledgers)
        self.followers = {number: LedgerFollower(ledger) for number, ledger in ledgers}

    def look(self) -> Progress:
        for follower in self.followers.values():
            follower.poll()
        return progress_of({n: each.state for n, each in self.followers.items()}, KEYS, 1)

    async def go_on(self) -> None:
        """Let some time pass, which heartbeats tell."""
        self.beats += 1
        await asyncio.sleep(2)
        await self.cluster.turns()
        await self.cluster.site.say("probes", beat(100 + self.beats, *RESOURCES))

    async def alone(self, partition: int) -> Progress:
        """Let one scheduler go on while the other is away."""
        both = self.cluster.leaders
        self.cluster.leaders = [both[partition]]
        for _ in range(3):
            await self.go_on()
        self.cluster.leaders = both
        return self.look()


def test_each_step_of_a_move_is_reported_with_what_it_waits_for() -> None:
    progresses = list[Progress]()

    async def story(site: Site) -> None:
        cluster = Cluster(site)
        await cluster.order()
        watched = Watched(cluster)
        progresses.append(watched.look())
        await cluster.move()
        progresses.append(await watched.alone(0))
        await cluster.run()
        progresses.append(await watched.alone(0))
        for _ in range(6):
            await watched.go_on()
        progresses.append(watched.look())

    play(story)
    assert [progress.stage for progress in progresses] == [
        "Unseen",
        "Requested",
        "Released",
        "Moved",
    ]
    assert "was ordered to start or stop" in progresses[1].why
    assert "partition 1 has not said yet" in progresses[2].why


def test_what_is_taken_and_not_listed_is_reported_by_its_new_partition() -> None:
    async def story(site: Site) -> None:
        cluster = Cluster(site)
        await cluster.begin()
        await cluster.move()
        watched = Watched(cluster)
        await watched.alone(0)
        cluster.list = nothing  # type: ignore[method-assign]
        await watched.alone(1)
        assert watched.look().stage == "Listing"
        names = [move.text() for n in range(2) for move in moves_of(watched.followers[n].state)]
        assert names == [
            "ClusterQueue first to 1: partition 1 has not said yet that it has taken the tree",
            f"ClusterQueue first to 1: {TAKEN}",
        ]

    async def nothing() -> None:
        """List nothing: ingest is away."""

    play(story)


@pytest.mark.parametrize(
    ("asks", "why"),
    [
        ({"a": 3}, "ClusterQueue b, ClusterQueue c do not ask for partition 3"),
        ({"a": 3, "b": 3, "c": 2}, "ClusterQueue c does not ask for partition 3"),
        ({"a": 3, "b": 3, "c": 3}, "it is released in the scheduler's next turn"),
    ],
)
def test_a_tree_stays_while_a_part_of_it_does_not_ask(asks: dict[str, int], why: str) -> None:
    state = State()
    for name in "abc":
        spec = ClusterQueueSpec(cohort="tree")
        apply(state, ClusterQueueDefined(at_us=1, name=name, uid=name, version=1, spec=spec))
    for name, to in asks.items():
        asked = MoveRequested(at_us=2, kind="ClusterQueue", name=name, uid=name, version=2, to=to)
        apply(state, asked)
    (move,) = moves_of(state)
    assert (move.tree, move.to, move.why) == ("Cohort/tree", 3, why)


def test_a_tree_of_which_another_partition_has_a_part_has_not_moved() -> None:
    states = {0: State(), 3: State()}
    for (number, state), name in zip(states.items(), "ab", strict=True):
        state.partition = number
        spec = ClusterQueueSpec(cohort="tree")
        apply(state, ClusterQueueDefined(at_us=1, name=name, uid=name, version=1, spec=spec))
    keys = {"ClusterQueue/a", "ClusterQueue/b"}
    assert [progress_of(states, keys, to).stage for to in (0, 3)] == ["Unseen", "Unseen"]
    assert [current_partition(states.values(), keys, to) for to in (0, 3)] == [3, 0]


def test_waiting_tells_each_stage_once_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    stages = iter(("Requested", "Requested", "Released", "Moved"))
    waits = list[float]()

    def look() -> Progress:
        stage: Any = next(stages)
        return Progress(stage, f"because {stage}", 0)

    wait_until_moved(look, 100, waits.append)
    assert len(waits) == len(("Requested", "Requested", "Released"))
    assert capsys.readouterr().err.splitlines() == [
        "requested: because Requested",
        "released: because Released",
        "moved: because Moved",
    ]


def test_waiting_ends_with_what_hangs() -> None:
    with pytest.raises(MoveHangsError, match="after 0 s: w is being evicted"):
        wait_until_moved(
            lambda: Progress("Requested", "w is being evicted", 0), 0, list[float]().append
        )


@pytest.mark.parametrize(
    ("stage", "led", "text"),
    [
        ("Requested", {0, 1}, "call it off: `tidegate partitions move a --to 0`"),
        ("Requested", {0}, "start a scheduler and an actuator with --partition 1"),
        ("Released", {1}, "start a scheduler and an actuator with --partition 0"),
        ("Released", {0, 1}, "partition 0's and 1's schedulers"),
        ("Listing", {1}, "ingest's log"),
        ("Unseen", {0, 1}, "logs of ingest and of partition 0's scheduler"),
    ],
)
def test_what_to_do_depends_on_where_it_hangs(
    stage: Literal["Unseen", "Requested", "Released", "Listing"], led: set[int], text: str
) -> None:
    assert text in move_remedy(stage, "a", 0, 1, led)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[str]:
    """Lend a ledger of two partitions; a scheduler leads the second, and does nothing."""
    file = tmp_path / "two.db"
    write(file)
    engine = open_engine(f"sqlite:///{file}")
    try:
        assert SqlLedger(engine, 1).begin_term("scheduler-1", FOREVER_US)
        yield str(file)
    finally:
        engine.dispose()


@pytest.fixture
def api(staged: str) -> Iterator[ApiClient]:
    """Lend an API server with the ledger's ClusterQueues, and a tree that no ledger knows."""
    with open_api(staged) as opened:
        put(opened, QUEUES, "ClusterQueue", "first", {})
        put(opened, QUEUES, "ClusterQueue", "second", {})
        put(opened, QUEUES, "ClusterQueue", "lasers", {"cohortName": "optics"})
        put(opened, COHORTS, "Cohort", "optics", {"parentName": "physics"})
        yield opened


def put(api: ApiClient, path: str, kind: str, name: str, spec: dict[str, Any]) -> None:
    notes = {PARTITION: "1"} if name == "second" else {}
    meta = {"name": name, "annotations": notes}
    api.request("POST", path, {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec})


def notes_of(api: ApiClient, name: str) -> dict[str, str]:
    mapping: dict[str, str] = (
        api.request("GET", f"{QUEUES}/{name}")["metadata"].get("annotations") or {}
    )
    return mapping


def moved(staged: str, ledger: str, *words: str) -> Result:
    where = ["--kubeconfig", staged, "--ledger", ledger]
    return CliRunner().invoke(build_app(), ["partitions", "move", *words, *where])


def test_a_move_is_asked_for_and_called_off(staged: str, ledger: str, api: ApiClient) -> None:
    dry = moved(staged, ledger, "first", "--to", "1", "--dry-run", "client", "-o", "json")
    document = json.loads(dry.stdout)
    assert (document["from"], document["to"], document["stage"]) == (0, 1, "Requested")
    assert document["objects"][0]["metadata"]["annotations"] == {MOVE_TO: "1"}
    assert notes_of(api, "first") == {}
    assert moved(staged, ledger, "first", "--to", "1", "--no-wait").exit_code == 0
    assert notes_of(api, "first") == {MOVE_TO: "1"}
    back = moved(staged, ledger, "cq/first", "--to", "0")
    assert back.stdout == "clusterqueue.kueue.x-k8s.io/first stays in partition 0\n"
    assert notes_of(api, "first") == {}
    assert "nothing to do" in moved(staged, ledger, "first", "--to", "0").stderr


def test_a_tree_that_has_moved_is_written_down(staged: str, ledger: str, api: ApiClient) -> None:
    """Its ledger says where it is; the annotations say where it was, or where it should go."""
    for notes in ({PARTITION: "0", MOVE_TO: "1"}, {PARTITION: "0", MOVE_TO: "2"}):
        api.request("PATCH", f"{QUEUES}/second", {"metadata": {"annotations": notes}})
        assert moved(staged, ledger, "second", "--to", "1").exit_code == 0
        assert notes_of(api, "second") == {PARTITION: "1"}


def test_a_move_that_does_not_end_says_what_hangs(staged: str, ledger: str, api: ApiClient) -> None:
    result = moved(staged, ledger, "first", "--to", "1", "--timeout", "0")
    assert result.exit_code == 1
    assert "partition 0 has not observed the annotations yet" in result.stderr
    assert "start a scheduler and an actuator with --partition 0" in result.stderr
    assert notes_of(api, "first") == {MOVE_TO: "1"}, "it may still move"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["second", "--to", "0"], "No scheduler leads partition 0"),
        (["second", "--to", "7"], "No scheduler leads partition 7"),
        (["lasers", "--to", "1"], "ClusterQueue lasers is in the tree of Cohort physics"),
        (["optics", "--to", "1"], "Cohort optics is in the tree of Cohort physics"),
        (["physics", "--to", "1"], "No partition has observed Cohort physics yet"),
        (["none", "--to", "1"], "no tree of the name 'none'. There are: first"),
    ],
)
def test_what_cannot_move_is_refused(
    staged: str, ledger: str, api: ApiClient, words: list[str], text: str
) -> None:
    result = moved(staged, ledger, *words)
    assert result.exit_code == 1
    assert text in result.stderr
    assert notes_of(api, "second") == {PARTITION: "1"}
    assert notes_of(api, "lasers") == notes_of(api, "first") == {}
