"""A history played again in virtual time: equal to itself, and to the history where that was so."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tests.parts.sample import ENTRIES
from tests.replay.world import QUEUES, World
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.decision_kinds.queues import BudgetReached
from tidegate.contracts.decisions import Decision, WorkloadAdmitted
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.core.state.state import State
from tidegate.errors import SettingsError
from tidegate.model.policy import DEFAULT_STRATEGIES, Policy
from tidegate.replay.rebuild import rebuild
from tidegate.replay.simulator.changes import Changes, target_of, with_changes
from tidegate.replay.simulator.field_paths import read_setting
from tidegate.replay.simulator.scenario import Scenario, recorded_scenario
from tidegate.replay.simulator.whatif import SimulationResult, recorded_result, simulate

SWEEP = "a/job-sweep-734ea"
numbers = st.integers(0, 9)
days = st.lists(st.tuples(numbers, numbers, numbers, st.integers(0, 40)), min_size=2, max_size=12)
policies = st.sampled_from((Policy(), Policy(fair_sharing=DEFAULT_STRATEGIES)))


def lived(asked: list[tuple[int, int, int, int]], policy: Policy) -> list[Entry]:
    """Return a day in which each job is submitted, runs for a while when it may, and ends."""
    world = World().open(policy)
    for which, cpus, priority, seconds in asked:
        world.turn(world.wait(seconds), world.submit(QUEUES[which % 3], 1 + cpus % 5, priority % 3))
        world.all_obey()
        running = [
            name for name, observation in world.jobs.items() if not observation.state.suspended
        ]
        if running and seconds % 3 == 0:
            world.turn(world.wait(1), world.finish(running[0]))
            world.all_obey()
    return world.entries


def cut(entries: list[Entry], since: int) -> tuple[list[Entry], State | None]:
    """Return what came after a seq, and the state there."""
    return entries[since:], rebuild(entries[:since])[0] if since else None


def events_of(scenario: Scenario) -> list[Event]:
    heard = list[Event]()
    simulate(scenario, listen=heard.append)
    return heard


def with_settings(scenario: Scenario, *texts: str) -> tuple[Scenario, set[str]]:
    known = {target for fact in scenario.facts if (target := target_of(fact)) is not None}
    asked = tuple(read_setting(text, known) for text in texts)
    return with_changes(scenario, Changes(settings=asked))


@drawn(20)
@given(days, policies, numbers)
def test_with_nothing_changed_both_sides_are_equal(
    asked: list[tuple[int, int, int, int]], policy: Policy, since: int
) -> None:
    entries = lived(asked, policy)
    at = entries[len(entries) * since // 10].seq if since else 0
    scenario = recorded_scenario(*cut(entries, at))
    same, hits = with_changes(scenario, Changes())
    assert (same.start, same.facts, hits) == (scenario.start, scenario.facts, set())
    assert simulate(same).figures == simulate(scenario).figures
    assert events_of(scenario) == events_of(recorded_scenario(*cut(entries, at)))


STOPPED = [(0, 0, 0, 1), (0, 2, 0, 0), (0, 2, 0, 1), (0, 2, 0, 1), (0, 2, 1, 1), (0, 2, 1, 0)]
"""The fourth job is made to leave after a second, as long as others ran, and waits at the end."""


@drawn(20)
@given(days, policies)
@example(STOPPED, Policy())
def test_what_virtual_time_wrote_is_played_again_decision_by_decision(
    asked: list[tuple[int, int, int, int]], policy: Policy
) -> None:
    first = events_of(recorded_scenario(lived(asked, policy)))
    again = events_of(recorded_scenario(seal(GENESIS, 1, "local", first)))
    decisions = [
        [event for event in events if isinstance(event, Decision)] for events in (first, again)
    ]
    assert decisions[0] == decisions[1]


def queue(side: SimulationResult, name: str) -> tuple[int, int, int]:
    [queue_figures] = [
        queue_figures for queue_figures in side.figures.queues if queue_figures.queue == name
    ]
    return queue_figures.preemptions, queue_figures.usage["cpu"].lost, queue_figures.waiting


def test_the_sample_comes_to_what_was_recorded() -> None:
    assert simulate(recorded_scenario(ENTRIES)).figures == recorded_result(ENTRIES).figures


@pytest.mark.parametrize("since", [28, 40, 57, 66])
def test_begun_in_the_middle_it_comes_to_what_was_recorded(since: int) -> None:
    there, here = (
        recorded_result(*cut(ENTRIES, since)).figures,
        simulate(recorded_scenario(*cut(ENTRIES, since))).figures,
    )
    assert here == there


def test_more_quota_avoids_the_preemption_and_its_loss() -> None:
    scenario = recorded_scenario(ENTRIES)
    assert queue(simulate(scenario), "team-a") == (1, 7_204_000, 1)
    texts = ("clusterqueue/team-b.cpu=12", "clusterqueue/team-b.on-demand.memory=24Gi")
    more, hits = with_settings(scenario, *texts)
    assert hits == set(texts)
    assert queue(simulate(more), "team-a") == (0, 0, 1)


def test_a_change_from_a_point_on_leaves_what_was_before() -> None:
    scenario = recorded_scenario(*cut(ENTRIES, 40))
    known = {("clusterqueue", "team-a"), ("clusterqueue", "team-b")}
    asked = (read_setting("cq/team-b.preemption.reclaimWithinCohort=Never", known),)
    other, hits = with_changes(scenario, Changes(settings=asked))
    assert (len(hits), queue(simulate(other), "team-a")[0]) == (1, 0)
    assert other.from_us == scenario.from_us


def test_a_hard_budget_that_is_spent_admits_no_other_job() -> None:
    scenario = recorded_scenario(ENTRIES)
    assert queue(simulate(scenario), "team-a")[0] == 1
    spent, hits = with_settings(scenario, "cq/team-a.budget=cpu=2/day hard")
    assert len(hits) == 1
    admitted = [event.workload for event in events_of(spent) if isinstance(event, WorkloadAdmitted)]
    assert [text for text in admitted if text.startswith("a/")] == ["a/job-train-c9a57", SWEEP]
    before = [
        event.workload for event in events_of(scenario) if isinstance(event, WorkloadAdmitted)
    ]
    assert [text for text in before if text.startswith("a/")] != ["a/job-train-c9a57", SWEEP]
    assert any(isinstance(event, BudgetReached) for event in events_of(spent))


def test_a_quota_that_no_version_has_changes_nothing() -> None:
    scenario = recorded_scenario(ENTRIES)
    other, hits = with_settings(scenario, "clusterqueue/team-a.gpu=4")
    assert (other.facts, hits) == (scenario.facts, set())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clusterqueue/team-a.cpu", "KIND/NAME.FIELD=VALUE"),
        ("queue/team-a.cpu=4", "begins with one of clusterqueue"),
        ("clusterqueue/team-x.cpu=4", "There are: team-a, team-b"),
        ("localqueue/a/main.colour=red", "there are clusterQueue, stopPolicy"),
        ("workloadpriorityclass/urgent.value=high", "'high' cannot be read"),
        ("clusterqueue/team-a.cpu=much", "much"),
        ("clusterqueue/team-a.cpu=-4", "is negative"),
        ("clusterqueue/team-a.budget=100", "is no budget"),
        ("clusterqueue/team-a.stopPolicy=Perhaps", "Invalid enum value 'Perhaps'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        with_settings(recorded_scenario(ENTRIES), text)
    assert str(raised.value).startswith(f"--set {text}: ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "clusterqueue/team-a.cohort=alone",
        "clusterqueue/team-a.queueingStrategy=StrictFIFO",
        "clusterqueue/team-a.weight=2.5",
        "clusterqueue/team-a.budget=cpu=100/day hard, memory=4Ti/week",
        "cohort/research.budget=cpu=1/day",
        "clusterqueue/team-b.on-demand.cpu.borrowingLimit=1",
        "clusterqueue/team-b.memory.nominalQuota=1Gi",
        "cohort/research.weight=3",
        "localqueue/a/main.clusterQueue=team-b",
        "lq/b/main.stopPolicy=Hold",
        "workloadpriorityclass/urgent.value=-5",
        "workload/a/job-train-c9a57.priorityClass=urgent",
        "workload/a/job-train-c9a57.priority=7",
        "policy.fairSharing=true",
        "policy.compatibility=kueue",
    ],
)
@pytest.mark.parametrize("since", [0, 57])
def test_whatever_can_be_set_changes_the_scenario_and_can_be_played(text: str, since: int) -> None:
    scenario = recorded_scenario(*cut(ENTRIES, since))
    known = {
        target
        for fact in recorded_scenario(ENTRIES).facts
        if (target := target_of(fact)) is not None
    }
    other, hits = with_changes(scenario, Changes(settings=(read_setting(text, known),)))
    assert hits == {text}
    assert (other.start, other.facts) != (scenario.start, scenario.facts)
    assert simulate(other).figures.to_us == scenario.to_us
