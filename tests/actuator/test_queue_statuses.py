"""Statuses of ClusterQueues, Cohorts and LocalQueues on the embedded API server."""

from __future__ import annotations

import asyncio

from tests.actuator.story import AT_US, GROUP, QUEUES, SECOND_US, Story
from tests.parts.stage import KUEUE, Object, alongside, eventually, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    LocalQueueUsageSampled,
    QuotaReleased,
    SampledUsage,
)
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    ClusterQueueRemoved,
    CohortDefined,
    LocalQueueDefined,
    PolicyConfigured,
)
from tidegate.contracts.facts import TimePassed
from tidegate.kinds.times import rfc3339
from tidegate.model.policy import AdmissionFairSharing, Policy
from tidegate.model.quota import (
    ClusterQueueSpec,
    CohortSpec,
    FlavorQuotas,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

FAIR = PolicyConfigured(
    at_us=AT_US, name="policy", policy=Policy(fair_sharing=("LessThanOrEqualToFinalShare",))
)
QUEUE, LOCAL = f"{KUEUE}/clusterqueues/cq", f"{KUEUE}/namespaces/default/localqueues/main"
COHORT = f"{KUEUE}/cohorts/all"


def lender(cpu: int) -> ClusterQueueDefined:
    """Return another queue of the cohort, with milli-CPU to lend."""
    quotas = FlavorQuotas(flavor="spot", quotas={"cpu": Quota(nominal=cpu)})
    group = ResourceGroup(resources=("cpu",), flavors=(quotas,))
    return ClusterQueueDefined(
        at_us=AT_US, name="other", spec=ClusterQueueSpec(cohort="all", groups=(group,))
    )


def cohort(parent: str = "", weight: int = 500_000_000) -> CohortDefined:
    return CohortDefined(at_us=AT_US, name="all", spec=CohortSpec(parent=parent, weight=weight))


def share(story: Story, path: str) -> int | None:
    sharing = story.status(path).get("fairSharing")
    return None if sharing is None else int(sharing["weightedShare"])


def active(story: Story, path: str) -> Object:
    current_conditions = story.status(path).get("conditions", [{}])
    assert len(current_conditions) == 1
    fields: Object = current_conditions[0]
    return fields


def with_cohort() -> Story:
    story = Story()
    story.make(f"{KUEUE}/cohorts", kueue("Cohort", "all", fairSharing={"weight": "0.5"}))
    return story


def test_a_queue_that_borrows_shows_its_share() -> None:
    async def run() -> None:
        story = with_cohort()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(FAIR, *QUEUES, lender(3_000), cohort(), story.submitted())
            await eventually(lambda: share(story, QUEUE) == 0)
            await story.write(story.reserved(), story.admitted())
            # It borrows 500 of the 4,000 milli-CPU of its cohort, which is a root and borrows none.
            await eventually(lambda: share(story, QUEUE) == 125)
            await story.write(QuotaReleased(at_us=AT_US, workload=story.key))
            await eventually(lambda: share(story, QUEUE) == 0)
        assert share(story, COHORT) == 0

    run_virtually(run())


def test_a_cohort_that_borrows_shows_its_weighted_share() -> None:
    async def run() -> None:
        story = with_cohort()
        above = CohortDefined(at_us=AT_US, name="root", spec=CohortSpec(groups=(GROUP,)))
        async with alongside(story.actuator(projects=True).run()):
            await story.write(FAIR, *QUEUES, above, cohort("root"), story.submitted())
            await story.write(story.reserved(), story.admitted())
            # 500 beyond its own 1,000, of 2,000 in all, with half the weight.
            await eventually(lambda: share(story, COHORT) == 500)
            # More quota beside it: no queue's usage changes, and yet the share does.
            await story.write(lender(500))
            await eventually(lambda: share(story, COHORT) == 0)

    run_virtually(run())


def test_shares_are_shown_while_fair_sharing_is_on_and_no_longer() -> None:
    async def run() -> None:
        story = with_cohort()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, cohort(), story.submitted())
            await eventually(lambda: story.status(QUEUE).get("pendingWorkloads") == 1)
            assert share(story, QUEUE) is None
            await story.write(FAIR)
            await eventually(lambda: share(story, QUEUE) == share(story, COHORT) == 0)
            await story.write(PolicyConfigured(at_us=AT_US, name="policy", policy=Policy()))
            await eventually(lambda: share(story, QUEUE) is share(story, COHORT) is None)

    run_virtually(run())


def test_a_successor_finds_the_shares_though_events_lost_their_configuration() -> None:
    async def run() -> None:
        story = Story(events_max=8)
        story.make(f"{KUEUE}/cohorts", kueue("Cohort", "all"))
        async with alongside(story.actuator(projects=True).run()):
            await story.write(FAIR, *QUEUES, lender(3_000), cohort(), story.submitted())
            await story.write(story.reserved(), story.admitted())
            await eventually(lambda: share(story, QUEUE) == 125)
        story.make(f"{KUEUE}/clusterqueues", _as_object("other", "3"))
        await story.write(*(TimePassed(at_us=AT_US) for _ in range(8)))
        async with alongside(story.actuator("heir", projects=True).run()):
            await asyncio.sleep(60)
            assert share(story, QUEUE) == 125
            await story.write(QuotaReleased(at_us=AT_US, workload=story.key))
            await eventually(lambda: share(story, QUEUE) == 0)

    run_virtually(run())


def test_a_local_queue_says_why_it_leads_nowhere_and_since_when() -> None:
    async def run() -> None:
        story, later_us = Story(), AT_US + 60 * SECOND_US
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES)
            await eventually(lambda: active(story, LOCAL).get("reason") == "Ready")
            await story.write(
                ClusterQueueReadinessChanged(
                    at_us=later_us, cluster_queue="cq", active=False, reason="Stopped", message="m"
                )
            )
            await eventually(lambda: active(story, LOCAL)["reason"] == "ClusterQueueIsInactive")
            assert active(story, LOCAL)["lastTransitionTime"] == rfc3339(later_us)
            assert active(story, QUEUE)["reason"] == "Stopped"
            await story.write(ClusterQueueRemoved(at_us=later_us, name="cq"))
            await eventually(lambda: active(story, LOCAL)["reason"] == "ClusterQueueDoesNotExist")
            stopped = LocalQueueSpec(cluster_queue="cq", stop_policy="Hold")
            await story.write(
                LocalQueueDefined(at_us=later_us, namespace="default", name="main", spec=stopped)
            )
            await eventually(lambda: active(story, LOCAL)["reason"] == "Stopped")

    run_virtually(run())


def _as_object(name: str, cpu: str) -> Object:
    quota = {"name": "cpu", "nominalQuota": cpu}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": [quota]}]}
    return kueue("ClusterQueue", name, cohortName="all", resourceGroups=[group])


def sampled(at_us: int, **consumed: str) -> LocalQueueUsageSampled:
    usage = SampledUsage(namespace="default", name="main", consumed=consumed)
    return LocalQueueUsageSampled(at_us=at_us, cluster_queue="cq", usage=(usage,))


def sharing(half_life_us: int | None) -> PolicyConfigured:
    between = None if half_life_us is None else AdmissionFairSharing(half_life_us=half_life_us)
    policy = Policy(admission_fair_sharing=between)
    return PolicyConfigured(at_us=AT_US, name="policy", policy=policy)


def test_a_local_queue_shows_what_it_consumed_until_that_plays_no_part() -> None:
    """To a thousandth, as Kubernetes writes a Quantity; what was shown before is kept."""

    async def run() -> None:
        story = Story()

        def shown() -> Object | None:
            fair_sharing: Object | None = story.status(LOCAL).get("fairSharing")
            return fair_sharing

        async with alongside(story.actuator(projects=True).run()):
            later_us = AT_US + 300 * SECOND_US
            await story.write(*QUEUES, sharing(SECOND_US), sampled(AT_US))
            await eventually(lambda: shown() is not None)
            about = {"consumedResources": {}, "lastUpdate": rfc3339(AT_US)}
            assert shown() == {"weightedShare": 0, "admissionFairSharingStatus": about}
            await story.write(sampled(later_us, cpu="1.23456", memory="2147483648", gpu="0.5"))
            amounts = {"cpu": "1235m", "memory": "2Gi", "gpu": "500m"}
            about = {"consumedResources": amounts, "lastUpdate": rfc3339(later_us)}
            expected = {"weightedShare": 0, "admissionFairSharingStatus": about}
            await eventually(lambda: shown() == expected)
        async with alongside(story.actuator("heir", projects=True).run()):
            await asyncio.sleep(60)
            assert shown() == expected
            await story.write(sharing(None))
            await eventually(lambda: shown() is None)

    run_virtually(run())
