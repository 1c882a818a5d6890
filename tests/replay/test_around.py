"""What the events of others say of one workload's waits: what was ahead, and what made room."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.notify.events import heard
from tests.parts.growth import entries
from tests.parts.sample import ENTRIES
from tests.replay.world import World, locals_
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import PreemptionIntended, Victim, WorkloadPreempted
from tidegate.contracts.facts import WorkloadRemoved
from tidegate.contracts.observations import ClusterQueueObserved, LocalQueueObserved
from tidegate.core.quota.forest import forest
from tidegate.core.state.cluster_queues import Forest
from tidegate.core.state.state import State
from tidegate.model.calendar import utc_text
from tidegate.model.quota import StopPolicy
from tidegate.replay.names import resolve_workloads
from tidegate.replay.story.context import ContextFolder, EventContext, event_contexts
from tidegate.replay.story.waits import Wait, annotated_lines, needed_text, waits
from tidegate.replay.story.why import story_of


@pytest.fixture
def world() -> World:
    """A small job runs in c; two more wait behind it, the later one larger in priority."""
    world = World().open()
    world.turn(world.submit("c", 3, 0))
    world.turn(*world.obey(next(iter(world.jobs))))
    world.turn(world.wait(5), world.submit("c", 4, 0))
    world.turn(world.wait(5), world.submit("c", 3, 0))
    return world


def looked(world: World, job: str) -> tuple[dict[int, EventContext], list[Wait], list[str]]:
    [key] = resolve_workloads(world.entries, job)
    story = story_of(world.entries, key)
    notes = event_contexts(world.entries, key, world.entries[-1].seq)
    return notes, waits(story, notes), [more for _, more in annotated_lines(story, notes) if more]


def test_a_workload_before_it_in_its_queue_is_ahead(world: World) -> None:
    small, second, third = world.jobs
    _, [waited], texts = looked(world, third)
    [ahead] = resolve_workloads(world.entries, second)
    assert (waited.outcome, waited.reason) == ("", "WaitingForQuota")
    assert (waited.ahead, waited.ahead_first) == (1, (ahead,))
    assert texts == [f"Ahead of it in c: {ahead}."]
    assert looked(world, second)[1][0].ahead == 0
    assert looked(world, small)[1][0].outcome == "admitted"


def test_what_ended_just_before_its_reservation_made_room(world: World) -> None:
    small, second, _ = world.jobs
    [ended] = resolve_workloads(world.entries, small)
    world.turn(world.wait(5), world.finish(small))
    notes, [waited], _ = looked(world, second)
    [freed] = waited.freed
    assert (freed.type, freed.object) == ("WorkloadFinished", ended)
    assert freed.amounts == {"f": {"cpu": "3"}}
    assert notes[waited.reserved_seq].freed == waited.freed
    assert waited.reason_seq < freed.seq < waited.reserved_seq == waited.to_seq - 1


def test_quota_that_was_raised_made_room(world: World) -> None:
    _, second, _ = world.jobs
    world.quotas["c"] = 20
    world.turn(world.wait(5), world.queue("c"))
    _, [waited], [text] = looked(world, second)
    assert [(freed.type, freed.object) for freed in waited.freed] == [("ClusterQueueDefined", "c")]
    assert text.startswith("Quota was freed: c changed (ClusterQueueDefined) (seq ")


def test_the_preemptors_priority_and_what_was_borrowed_are_reported() -> None:
    world = World().open()
    for cpus in (5, 3, 4):
        world.turn(world.submit("a", cpus, 0))
        world.all_obey()
    world.turn(world.wait(5), world.submit("b", 3, 2))
    [preempted] = [entry for entry in world.entries if entry.type == "WorkloadPreempted"]
    victim = decode(preempted.payload)
    assert isinstance(victim, WorkloadPreempted)
    note = event_contexts(world.entries, victim.workload, preempted.seq)[preempted.seq]
    assert note.priorities == (0, 2)
    assert note.borrowed == {"f": {"cpu": "4"}, "g": {"cpu": "2"}}
    assert world.entries[note.intent_seq - 1].type == "PreemptionIntended"


def test_no_tree_is_built_for_a_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = set[int]()

    def counted(state: State) -> Forest:
        looked.add(state.seq + 1)
        return forest(state)

    monkeypatch.setattr("tidegate.replay.story.freeing.forest", counted)
    assert event_contexts(ENTRIES, "b/job-urgent-ad546", len(ENTRIES))
    assert looked
    assert not looked & {entry.seq for entry in ENTRIES if entry.type.endswith("Defined")}


def test_a_workload_that_waits_again_is_shown_what_was_freed_since() -> None:
    world = World().open()
    for cpus in (5, 3, 4):
        world.turn(world.submit("a", cpus, 0))
        world.all_obey()
    world.turn(world.wait(5), world.submit("b", 3, 2))
    world.all_obey()
    [victim] = {
        decode(entry.payload) for entry in world.entries if entry.type == "WorkloadPreempted"
    }
    assert isinstance(victim, WorkloadPreempted)
    released = max(entry.seq for entry in world.entries if entry.type == "QuotaReleased")
    ended = next(
        job for job in world.jobs if victim.workload not in resolve_workloads(world.entries, job)
    )
    world.turn(world.wait(5), world.finish(ended))
    notes = event_contexts(world.entries, victim.workload, world.entries[-1].seq)
    freed = [freed for seq, note in notes.items() if seq > released for freed in note.freed]
    assert freed
    assert all(freed.seq > released for freed in freed)


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_the_user_that_stopped_its_queue_is_shown(world: World, policy: StopPolicy) -> None:
    runs, second, _ = world.jobs
    world.stops["c"] = policy
    observed = world.queue("c")
    assert isinstance(observed, ClusterQueueObserved)
    world.turn(world.wait(5), replace(observed, author="kim\r"))
    world.turn(*world.obey(runs))
    stop = next(entry for entry in reversed(world.entries) if entry.type == "ClusterQueueDefined")
    text = f"ClusterQueue c was stopped by kim? at {utc_text(stop.at_us)} ({policy})"
    _, [waited], texts = looked(world, second)
    assert (waited.reason, needed_text(waited)) == ("Suspended", text)
    assert f"{text}." in texts
    _, _, texts = looked(world, runs)
    assert (f"{text}." in texts) == (policy == "HoldAndDrain")


def test_the_user_that_stopped_its_local_queue_is_shown(world: World) -> None:
    _, second, _ = world.jobs
    before = locals_()[-1]
    assert isinstance(before, LocalQueueObserved)
    spec = replace(before.spec, stop_policy="Hold")
    world.turn(world.wait(5), replace(before, version=900, spec=spec))
    _, [waited], _ = looked(world, second)
    assert needed_text(waited).startswith("LocalQueue team/c was stopped (author not recorded) at ")
    # In a queue that goes on no workload's answer mentions the stop any more.
    world.turn(world.wait(5), replace(before, version=901))
    assert looked(world, second)[1][0].stopped == ()


def test_nothing_of_a_victim_stays_once_it_is_gone() -> None:
    folder = ContextFolder(State())
    victim = Victim(workload="a/one", reason="InClusterQueue")
    intended = PreemptionIntended(at_us=1, workload="a/two", victims=(victim,))
    gone = WorkloadRemoved(at_us=2, workload="a/one")
    kept = list[int]()
    for event in heard(intended, gone):
        folder.fold(event.entry, event.event)
        kept.append(entries(folder)["ContextFolder._intents"])
    assert kept == [1, 0]
