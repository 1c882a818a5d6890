"""``tidegate clusters``: how worker clusters stand, and which are held; what the doctor says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from tests.cli.stage import staged
from tests.core.member_clusters import POLICY as HUB
from tests.core.member_clusters import Hub
from tests.core.telling import job, started
from tests.parts.sample import filled
from tests.replay.world import World
from tidegate.cli.commands.clusters.members import member_clusters, member_sentences
from tidegate.cli.doctor.worker_clusters import NOMINATION_US, examine_workers
from tidegate.cli.objects.api_client import open_api
from tidegate.cli.program import build_app
from tidegate.contracts import observations
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Position, Positions
from tidegate.contracts.facts import PolicyConfigured
from tidegate.contracts.observed.clusters import (
    MultiKueueClusterObserved,
    MultiKueueConfigObserved,
    RemoteClusterObserved,
)
from tidegate.core.state.state import State
from tidegate.model.multikueue import CONTROLLER, CheckParameters, MultiKueuePolicy
from tidegate.model.policy import Policy
from tidegate.model.quota import CheckRule, StopPolicy

__all__ = ["staged"]
SENT = MultiKueuePolicy(kinds=("batch/job",))
POLICY = Policy(multikueue=SENT)
CLUSTERS = "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters"


def cluster(name: str, version: int, policy: StopPolicy = "None") -> observations.Observation:
    return MultiKueueClusterObserved(
        name=name, uid=name, version=version, session="a", stop_policy=policy
    )


def reached(name: str, *, connected: bool = True, message: str = "") -> observations.Observation:
    reason = "" if connected else "ClientConnectionFailed"
    return RemoteClusterObserved(
        cluster=name, session="d", connected=connected, reason=reason, message=message
    )


@pytest.fixture(scope="module")
def world() -> World:
    """One workload is asked of w1, which is held later; w2 is lost, w3 was never reached."""
    return made_with(POLICY)


def made_with(policy: Policy) -> World:
    made = World().open(policy)
    named = CheckParameters(group="kueue.x-k8s.io", kind="MultiKueueConfig", name="all")
    made.turn(
        observations.CheckObserved(
            name="far", uid="far", version=1, session="a", controller=CONTROLLER, parameters=named
        ),
        MultiKueueConfigObserved(
            name="all", uid="all", version=1, session="a", clusters=("w1", "w2")
        ),
        *(cluster(name, 1) for name in ("w1", "w2", "w3")),
        reached("w1"),
        reached("w2"),
    )
    queue = made.queue("c")
    assert isinstance(queue, observations.ClusterQueueObserved)
    made.turn(replace(queue, spec=replace(queue.spec, checks=(CheckRule(name="far"),))))
    submitted = made.submit("c", 1, 0)
    assert isinstance(submitted, observations.JobObserved)
    made.turn(replace(submitted, gates=(CONTROLLER,)))
    made.settle()
    made.turn(reached("w2", connected=False, message="no route"))
    made.turn(cluster("w3", 2, "HoldAndDrain"))
    return made


@pytest.fixture(scope="module")
def ledger(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    turns = (list(entries) for _, entries in groupby(world.entries, key=lambda entry: entry.turn))
    file = tmp_path_factory.mktemp("clusters") / "ledger.db"
    with filled(f"sqlite:///{file}", turns):
        yield str(file)


def ran(ledger: str, *words: str) -> Result:
    return CliRunner().invoke(build_app(), ["clusters", *words, "--ledger", ledger])


def test_each_cluster_is_listed_with_how_it_stands(ledger: str) -> None:
    documents: list[dict[str, Any]] = json.loads(ran(ledger, "list", "-o", "json").stdout)
    mapping = {row["name"]: (row["standing"], row["stopPolicy"], row["asks"]) for row in documents}
    assert mapping == {
        "w1": ("Connected", "None", 1),
        "w2": ("Lost", "None", 1),
        "w3": ("Unknown", "HoldAndDrain", 0),
    }
    assert "w2" in ran(ledger, "list").stdout


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("w1", ["It answers.", "connected"]),
        ("w2", ["does not answer: ClientConnectionFailed: no route", "lost: ClientConn"]),
        ("w3", ["No dispatcher has reached it", "It is drained", "No MultiKueueConfig names it"]),
        ("w3", ["defined, stop policy None", "defined, stop policy HoldAndDrain"]),
    ],
)
def test_why_says_what_stands_in_the_way(ledger: str, name: str, names: list[str]) -> None:
    stdout = ran(ledger, "why", name).stdout
    assert [text for text in names if text not in stdout] == []


def test_an_unknown_cluster_is_named_with_those_that_there_are(ledger: str) -> None:
    result = ran(ledger, "why", "w9")
    assert result.exit_code == 1
    assert "There are: w1, w2, w3." in result.stderr


def test_the_doctor_says_one_line_for_each_cluster(world: World) -> None:
    rows = [(worker.code, worker.ok) for worker in examine_workers(world.bus.state)]
    assert rows == [("WorkerAnswers", True), ("WorkerLost", False), ("WorkerUnknown", False)]


def test_the_doctor_says_that_no_external_dispatcher_nominates() -> None:
    """A name that is mistyped is that of an external dispatcher, as in Kueue."""
    world = made_with(Policy(multikueue=replace(SENT, dispatcher="External")))
    state = world.bus.state
    assert [worker.code for worker in examine_workers(state)][-1] == "ExternalDispatcher"
    state.now_us += NOMINATION_US + 1
    (*_, finding) = examine_workers(state)
    assert (finding.code, finding.ok) == ("NotNominated", False)
    assert "dispatcherName" in finding.to_do


@pytest.mark.parametrize(
    ("verb", "policy"), [("cordon", "Hold"), ("drain", "HoldAndDrain"), ("uncordon", None)]
)
def test_a_cluster_is_held_drained_and_opened_by_its_annotation(
    staged: str, verb: str, policy: str | None
) -> None:
    source = {"kubeConfig": {"location": "w1", "locationType": "Secret"}}
    made = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "MultiKueueCluster",
        "metadata": {"name": "w1", "annotations": {"tidegate.dev/stop-policy": "Hold"}},
        "spec": {"clusterSource": source},
    }
    with open_api(staged) as api:
        api.request("POST", CLUSTERS, made)
        words = ["clusters", verb, "w1", "--kubeconfig", staged]
        dry = CliRunner().invoke(build_app(), [*words, "--dry-run", "client", "-o", "json"])
        notes = json.loads(dry.stdout)["metadata"]["annotations"]
        assert notes.get("tidegate.dev/stop-policy") == policy
        assert CliRunner().invoke(build_app(), words).exit_code == 0
        notes = api.request("GET", f"{CLUSTERS}/w1")["metadata"].get("annotations") or {}
        assert notes.get("tidegate.dev/stop-policy") == policy


@pytest.fixture(scope="module")
def hub() -> State:
    """East is heard of and runs two jobs while one waits; west fell silent; south never spoke."""
    made = Hub().open(replace(HUB, member_clusters=("east", "south", "west")))
    for number in range(3):  # of two CPUs each, and there are four
        made.members["east"].tell(job(f"train-{number}"))
    made.decide()
    made.pass_time(40, "east")
    return made.bus.state


def test_members_are_reported_beside_workers(hub: State) -> None:
    mapping = {member.name: member for member in member_clusters(hub)}
    fields = {
        name: (worker.standing, len(worker.running), len(worker.asked))
        for name, worker in mapping.items()
    }
    assert fields == {"east": ("Heard", 2, 1), "south": ("Silent", 0, 0), "west": ("Silent", 0, 0)}
    assert mapping["east"].flavors == ("east",)
    [text] = member_sentences(mapping["west"])
    assert "Nothing has been heard of it for 30 s" in text
    assert "No ResourceFlavor names it" in " ".join(member_sentences(mapping["south"]))


def test_the_doctor_says_one_line_for_each_member(hub: State) -> None:
    rows = [(worker.code, worker.ok) for worker in examine_workers(hub)]
    assert rows == [("MemberHeard", True), ("MemberSilent", False), ("MemberSilent", False)]


def test_a_member_that_another_cluster_replaced_is_reported() -> None:
    made = Hub().open()
    for uid in ("first", "second"):
        made.members["east"].tell(replace(started(number=len(uid)), cluster_uid=uid))
    east = member_clusters(made.bus.state)[0]
    assert (east.standing, east.uid) == ("Replaced", "first")
    assert next(member_sentences(east)).startswith("The cluster second observes in the place of")
    finding = next(iter(examine_workers(made.bus.state)))
    assert (finding.code, finding.ok) == ("MemberReplaced", False)


def test_a_member_is_listed_with_when_it_was_last_heard_of(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    policy = PolicyConfigured(at_us=1, name="p", uid="p", policy=HUB)
    with filled(url, [seal(GENESIS, 1, "local", [policy])]) as ledger:
        ledger.append(1, 1, [], Positions(members={"east": Position(7, 1)}))
    documents: list[dict[str, Any]] = json.loads(ran(url, "list", "-o", "json").stdout)
    last = {row["name"]: row["lastHeard"] for row in documents}
    assert (last["east"][:2], last["west"]) == ("20", "")
    past = json.loads(ran(url, "list", "-o", "json", "--as-of", "1").stdout)
    assert {row["lastHeard"] for row in past} == {""}


FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"


@pytest.mark.parametrize(
    ("verb", "text"),
    [("cordon", "east=Hold,west"), ("drain", "east=HoldAndDrain,west"), ("uncordon", "east,west")],
)
def test_a_member_is_held_drained_and_opened_by_its_flavors(
    staged: str, verb: str, text: str
) -> None:
    runner, words = CliRunner(), ["clusters", verb, "--kubeconfig", staged]
    with open_api(staged) as api:
        for name, clusters in (("both", "west,east=HoldAndDrain"), ("other", "west")):
            made = {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ResourceFlavor",
                "metadata": {"name": name, "annotations": {"tidegate.dev/clusters": clusters}},
            }
            api.request("POST", FLAVORS, made)
        assert runner.invoke(build_app(), [*words, "east"]).exit_code == 0
        notes = [
            api.request("GET", f"{FLAVORS}/{name}")["metadata"]["annotations"][
                "tidegate.dev/clusters"
            ]
            for name in ("both", "other")
        ]
        assert notes == [text, "west"]
        unknown = runner.invoke(build_app(), [*words, "nowhere"])
        assert "no ResourceFlavor exists in a cluster of that name" in unknown.stderr
