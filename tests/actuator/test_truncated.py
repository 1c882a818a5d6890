"""EVENTS without its beginning: what it no longer tells is read back from Kubernetes."""

from __future__ import annotations

import pytest

from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.history import LEDGER, History
from tests.parts.stage import KUEUE, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import QuotaReleased, ReservationRepeated, WorkloadEvicted
from tidegate.contracts.facts import JobStateReported, LedgerOpened, TimePassed, WorkloadFinished
from tidegate.contracts.observations import JobState
from tidegate.model.ids import ObjectRef

KEPT = 10
FILLER = tuple(TimePassed(at_us=AT_US) for _ in range(KEPT))
QUEUE = f"{KUEUE}/clusterqueues/cq"


async def shown(story: Story) -> None:
    """Have a first actuator show an admitted workload, and EVENTS forget how that came."""
    await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
    async with alongside(story.actuator(projects=True).run()):
        await eventually(lambda: story.condition("Admitted")[0] == "True")
        await eventually(lambda: story.status(QUEUE).get("admittedWorkloads") == 1)
    await story.write(*FILLER)


def test_a_successor_goes_on_from_what_kubernetes_shows() -> None:
    async def run() -> None:
        story = Story(events_max=KEPT)
        await shown(story)
        async with alongside(story.actuator("heir", projects=True).run()):
            await story.write(
                WorkloadEvicted(
                    at_us=AT_US, workload=story.key, reason="Preempted", message="again"
                ),
                QuotaReleased(at_us=AT_US, workload=story.key),
            )
            await eventually(lambda: story.condition("Evicted") == ("True", "Preempted", "again"))
            await eventually(lambda: story.status(QUEUE)["pendingWorkloads"] == 1)
        status = story.status(QUEUE)
        assert (status["admittedWorkloads"], status["reservingWorkloads"]) == (0, 0)
        assert status["flavorsUsage"][0]["resources"][0]["total"] == "0"
        assert story.read(story.path)["spec"]["priority"] == 100

    run_virtually(run())


def test_a_workload_evicted_in_a_lost_tail_is_shown_as_admitted_once_that_is_published_again() -> (
    None
):
    async def run() -> None:
        story = Story(events_max=KEPT)
        await shown(story)
        lost = WorkloadEvicted(at_us=AT_US, workload=story.key, reason="Preempted")
        async with alongside(story.actuator(projects=True).run()):
            await story.write(lost, QuotaReleased(at_us=AT_US, workload=story.key))
            await eventually(lambda: story.condition("Admitted")[0] == "False")
        await story.write(*FILLER)
        async with alongside(story.actuator("heir", projects=True).run()):
            await story.write(_again(story))
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            await eventually(lambda: story.status(QUEUE)["admittedWorkloads"] == 1)
        assert story.condition("Evicted")[0] != "True"

    run_virtually(run())


def _again(story: Story) -> ReservationRepeated:
    return ReservationRepeated(
        at_us=AT_US,
        workload=story.key,
        uid=story.uid,
        cluster_queue="cq",
        job=story.submitted().job,
        queue="main",
        priority_class="high",
        assignment=story.reserved().assignment,
        admitted=True,
    )


def test_an_elastic_job_stays_so_if_its_reservation_comes_again_before_it_was_read_back() -> None:
    key, uid, read_model = "team/job-grows", "uid-1", ReadModel()
    job = ObjectRef(kind="batch/job", namespace="team", name="grows", uid=uid)
    state = JobState(suspended=False, generation=3)
    again = ReservationRepeated(
        at_us=AT_US, workload=key, uid=uid, job=job, cluster_queue="cq", admitted=True
    )
    grown = JobStateReported(at_us=AT_US, workload=key, uid=uid, state=state)
    read_model.fills_in = True
    read_model.apply_event(grown, f"{LEDGER}/1")
    read_model.apply_event(again, f"{LEDGER}/2")
    read_model.add_seed(WorkloadView(key=key, uid=uid, job=job, elastic=True, generation=2))
    read_model.end_seeding()
    shown = read_model.workloads[key]
    assert (shown.elastic, shown.generation, shown.phase) == (True, 3, "admitted")


def test_nothing_is_written_while_nothing_changes() -> None:
    async def run() -> None:
        story = Story(events_max=KEPT)
        await shown(story)
        story.api.requests.clear()
        async with alongside(story.actuator("heir", projects=True).run()):
            await eventually(lambda: ("GET", f"{KUEUE}/workloads") in story.api.requests)
            await story.write(WorkloadFinished(at_us=AT_US, workload=story.key, message="done"))
            await eventually(lambda: story.condition("Finished")[0] == "True")
        written = [path for method, path in story.api.requests if method == "PATCH"]
        assert written.count(f"{story.path}/status") == 1

    run_virtually(run())


@pytest.mark.parametrize("usage", ["1500m", "2"])
def test_amounts_are_read_back_as_they_were_written(usage: str) -> None:
    async def run() -> None:
        story = Story(events_max=KEPT)
        await shown(story)
        admission = story.status(story.path)["admission"]
        admission["podSetAssignments"][0]["resourceUsage"] = {"cpu": usage}
        story.change(f"{story.path}/status", {"status": {"admission": admission}})
        async with alongside(story.actuator("heir", projects=True).run()):
            await eventually(lambda: story.used() == usage)

    run_virtually(run())


@pytest.mark.parametrize(("lost", "holding"), [(0, 1), (1, 0), (3, 0)])
def test_a_workload_with_quota_of_a_lost_tail_is_not_counted(lost: int, holding: int) -> None:
    """``lost`` is how many entries the ledger lost before it was recovered under another name."""

    async def run() -> None:
        story = Story()
        former = History(story.bus, "former")
        granted = story.submitted(), story.reserved(), story.admitted()
        last = await former.write(*QUEUES, *granted)
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.status(QUEUE).get("admittedWorkloads") == 1)
        recovered = History(story.bus, seq=last - lost, ahead=lost)
        opened = LedgerOpened(at_us=AT_US, ledger_id=LEDGER)
        await recovered.write(opened, TimePassed(at_us=AT_US))
        story.change(f"{QUEUE}/status", {"status": {"reservingWorkloads": 7}})
        async with alongside(story.actuator("heir", projects=True).run()):
            await eventually(lambda: story.status(QUEUE)["reservingWorkloads"] == holding)

    run_virtually(run())
