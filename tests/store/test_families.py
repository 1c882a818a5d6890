"""Jobs that are tried by variants, in the reports: each Workload stands there as it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Engine, text

from tests.lifecycle.stage import Stage
from tests.store.test_reports import written
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import FactEvent
from tidegate.model.policy import Policy

TRIED = {"concurrent": True, "cpu": {"best": 1, "good": 1}}


@dataclass
class Recorded(Stage):
    """A stage whose events are kept."""

    events: list[FactEvent | DecisionEvent] = field(default_factory=list)

    def _learn(self, event: FactEvent | DecisionEvent, seq: int) -> None:
        super()._learn(event, seq)
        self.events.append(event)

    def lived(self) -> Stage:
        """Play a life in which families are made, move, are put aside and dropped."""
        self.open(Policy(gates={"ConcurrentAdmission": True}))
        self.turn(
            *(self.flavor(name, {}) for name in ("best", "good")),
            self.cluster_queue("cq", dict(TRIED)),
            self.local_queue("main", {"cluster_queue": "cq"}),
        )
        self.turn(self.submit("first", {}))
        self.turn(self.submit("second", {}))
        self.turn(self.submit("third", {}))
        self.turn(self.submit("fourth", {}))
        self.turn(self.change("first", finished="Succeeded"))
        self.turn(self.change("third", active=False))
        self.turn(self.change("third", active=True))
        self.turn(self.change("fourth", active=False))
        return self


def shown(engine: Engine) -> dict[str, str]:
    with engine.connect() as conn:
        asked = "SELECT workload, phase FROM report_workload WHERE removed_seq IS NULL"
        return {row.workload: row.phase for row in conn.execute(text(asked))}


def waiting(engine: Engine) -> set[str]:
    with engine.connect() as conn:
        asked = "SELECT workload FROM report_wait WHERE to_seq IS NULL"
        return {row.workload for row in conn.execute(text(asked))}


def test_each_of_a_family_stands_in_the_reports_as_it_is(engine: Engine) -> None:
    stage = Recorded()
    stage.lived()
    written(engine, [seal(GENESIS, 1, "local", stage.events)])
    state = stage.bus.state
    assert shown(engine) == {key: workload.phase for key, workload in state.workloads.items()}
    assert {workload.phase for workload in state.workloads.values()} >= {
        "parent",
        "inactive",
        "admitted",
    }
    pending = {key for key, workload in state.workloads.items() if workload.phase == "pending"}
    assert waiting(engine) == pending


def test_a_job_that_is_tried_by_variants_no_more_waits_itself(engine: Engine) -> None:
    stage = Recorded()
    stage.lived()
    stage.turn(stage.submit("fifth", {}))
    stage.turn(stage.cluster_queue("cq", {"cpu": {"best": 1, "good": 1}}))
    written(engine, [seal(GENESIS, 1, "local", stage.events)])
    phases = shown(engine)
    assert phases == {key: workload.phase for key, workload in stage.bus.state.workloads.items()}
    assert phases["team/fifth"] == "pending"
    assert "team/fifth" in waiting(engine)
