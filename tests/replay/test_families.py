"""The story of a job that is tried by variants: what each of them met, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.lifecycle.stage import Stage
from tidegate.contracts.codec import encode, type_name
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent
from tidegate.model.policy import Policy
from tidegate.replay.names import resolve_workloads
from tidegate.replay.story.why import story_of

GATES = {"ConcurrentAdmission": True}


@dataclass
class Recorded(Stage):
    """A stage whose ledger is kept."""

    entries: list[Entry] = field(default_factory=list)

    def _learn(self, event: FactEvent | DecisionEvent, seq: int) -> None:
        super()._learn(event, seq)
        self.entries.append(
            Entry(
                partition=0,
                seq=seq,
                epoch=1,
                turn=seq,
                at_us=event.at_us,
                cluster="local",
                type=type_name(event),
                subject="",
                payload=encode(event).decode(),
                hash=b"",
            )
        )


def lived() -> list[Entry]:
    stage = Recorded()
    stage.open(Policy(gates=GATES))
    stage.turn(
        *(stage.flavor(name, {}) for name in ("best", "good")),
        stage.cluster_queue("cq", {"concurrent": True, "cpu": {"best": 1, "good": 1}}),
        stage.local_queue("main", {"cluster_queue": "cq"}),
    )
    stage.turn(stage.submit("first", {}))
    stage.turn(stage.submit("second", {}))
    stage.turn(stage.change("first", finished="Succeeded"))
    return stage.entries


def test_a_parents_story_tells_what_its_variants_met() -> None:
    story = story_of(lived(), "team/second")
    assert story.phase == "parent"
    texts = [line.text for line in story.lines]
    assert "Variant team/second-best created: team/second on flavor best." in texts
    assert any(text.startswith("team/second-best: Waits: WaitingForQuota") for text in texts)
    assert any(text.startswith("team/second-good: Evicted: FlavorMigration") for text in texts)
    assert any(text.startswith("team/second-best: Admitted by cq") for text in texts)


def test_a_variants_story_is_its_own() -> None:
    story = story_of(lived(), "team/second-good")
    assert story.phase == "inactive"
    assert story.job is not None
    assert story.job.name == "second"
    assert not [line for line in story.lines if line.text.startswith("team/")]


def test_what_ended_is_reported_once() -> None:
    lines = [line.what for line in story_of(lived(), "team/first").lines]
    assert lines.count("WorkloadFinished") == 1


def test_a_job_means_its_parent_and_a_variant_is_named_in_full() -> None:
    entries = lived()
    assert resolve_workloads(entries, "job/second") == ["team/second"]
    assert resolve_workloads(entries, "team/second-good") == ["team/second-good"]
