"""Kueue's metrics say of a history what Kueue would say: by name, label and unit."""

from __future__ import annotations

from math import inf, isnan

import pytest
from msgspec.structs import replace

from tests.scheduler.metrics_story import (
    World,
    about,
    at,
    configured,
    queues,
    reserved,
    submitted,
)
from tidegate.contracts import decisions, facts
from tidegate.core.folding.fold import apply
from tidegate.model.quota import CohortSpec, Quota
from tidegate.service.config.local_queue_metrics import NONE

ONE, TWO = "left/one", "right/two"
CQ = {"cluster_queue": "left"}
LQ = {"name": "main", "namespace": "left"}
HIGH = {"priority_class": "high"}
FLAVOR = {"flavor": "any", "resource": "cpu"}


@pytest.fixture
def world() -> World:
    """Two queues; one job was admitted after 10 s, another waits."""
    world = World()
    world.happen(*queues())
    world.happen(submitted(ONE, 0), submitted(TWO, 1))
    world.happen(reserved(ONE, 10), about(decisions.WorkloadAdmitted, ONE, 10))
    return world


def test_waiting_and_running_workloads_are_shown_by_queue(world: World) -> None:
    assert world.value("pending_workloads", cluster_queue="right", status="active") == 1
    assert world.value("pending_workloads", **CQ, status="active") == 0
    assert world.value("local_queue_pending_workloads", **LQ, status="inadmissible") == 0
    for name in ("reserving_active_workloads", "admitted_active_workloads"):
        assert world.value(name, **CQ) == 1
        assert world.value(f"local_queue_{name}", **LQ) == 1
    labels = {"reason": "NoReservation", "underlying_cause": "PendingEvaluation"}
    assert world.value("unadmitted_workloads", cluster_queue="right", **labels) == 1


@pytest.mark.parametrize("reason", ["FlavorNotFound", "Stopped"])
def test_all_that_wait_in_an_inactive_queue_are_inadmissible(world: World, reason: str) -> None:
    """Source: Kueue's reportCQPendingWorkloads and reportLQPendingWorkloads."""
    world.happen(
        decisions.ClusterQueueReadinessChanged(
            at_us=at(11), cluster_queue="right", active=False, reason=reason
        )
    )
    for status, count in (("active", 0), ("inadmissible", 1)):
        assert world.value("pending_workloads", cluster_queue="right", status=status) == count
        lq = {"name": "main", "namespace": "right", "status": status}
        assert world.value("local_queue_pending_workloads", **lq) == count


def test_quota_and_usage_are_in_cores(world: World) -> None:
    cell = {"cohort": "unit", **CQ, **FLAVOR}
    assert world.value("cluster_queue_nominal_quota", **cell) == 4
    assert world.value("cluster_queue_borrowing_limit", **cell) == 2
    assert world.value("cluster_queue_lending_limit", **cell) == inf
    assert world.value("cluster_queue_resource_reservation", **cell) == 2
    assert world.value("cluster_queue_resource_usage", **cell) == 2
    assert world.value("local_queue_resource_usage", **LQ, **FLAVOR) == 2
    pending = {"cluster_queue": "right", "resource": "cpu"}
    assert world.value("cluster_queue_resource_pending", **pending) == 2


def test_cohorts_are_reported_with_all_below_them(world: World) -> None:
    for cohort in ("unit", "all"):
        assert world.value("cohort_subtree_quota", cohort=cohort, **FLAVOR) == 8
        held = world.value("cohort_subtree_resource_reservations", cohort=cohort, **FLAVOR)
        assert held == 2
        assert world.value("cohort_subtree_admitted_active_workloads", cohort=cohort) == 1
        total = world.value("cohort_subtree_admitted_workloads_total", cohort=cohort, **HIGH)
        assert total == 1
    above = {"parent_cohort": "all", "root_cohort": "all"}
    assert world.value("cohort_info", cohort="unit", **above) == 1
    in_unit = {"parent_cohort": "unit", "root_cohort": "all"}
    assert world.value("cluster_queue_info", **CQ, **in_unit) == 1


@pytest.mark.parametrize(
    ("fair", "resources", "of_queue", "of_cohort"),
    [(True, True, 0, 0), (True, False, None, 0), (False, True, None, None)],
)
def test_shares_are_reported_where_they_decide(
    *, fair: bool, resources: bool, of_queue: float | None, of_cohort: float | None
) -> None:
    """Source: Kueue's reconcilers of ClusterQueues and Cohorts; one asks for both settings."""
    world = World(resources=resources)
    world.happen(configured(fair=fair), *queues())
    assert world.value("cluster_queue_weighted_share", **CQ, cohort="unit") == of_queue
    assert world.value("cohort_weighted_share", cohort="unit") == of_cohort


def test_a_borrower_of_weight_0_has_no_number_and_such_a_cohort_an_endless_one() -> None:
    world = World()
    world.happen(configured(fair=True), *queues())
    spec = world.state.objects.cluster_queues["left"].spec
    all_of_it = CohortSpec(groups=spec.groups)
    group = spec.groups[0]
    nothing = replace(group.flavors[0], quotas={"cpu": Quota(nominal=0)})
    borrowing = replace(spec, groups=(replace(group, flavors=(nothing,)),), weight=0)
    world.happen(
        facts.CohortDefined(at_us=at(1), name="all", spec=all_of_it),
        facts.CohortDefined(at_us=at(1), name="unit", spec=CohortSpec(parent="all", weight=0)),
        *(
            facts.ClusterQueueDefined(at_us=at(1), name=name, spec=borrowing)
            for name in ("left", "right")
        ),
        *(submitted(ONE, 2), reserved(ONE, 3)),
    )
    of_queue = world.value("cluster_queue_weighted_share", **CQ, cohort="unit")
    assert of_queue is not None
    assert isnan(of_queue)
    assert world.value("cohort_weighted_share", cohort="unit") == inf


def test_a_status_is_one_of_all(world: World) -> None:
    values = [
        world.value("cluster_queue_status", **CQ, status=status)
        for status in ("pending", "active", "terminating")
    ]
    assert values == [0, 1, 0]
    values = [
        world.value("local_queue_status", **LQ, active=active)
        for active in ("True", "False", "Unknown")
    ]
    assert values == [1, 0, 0]


def test_an_admission_is_counted_with_its_waits(world: World) -> None:
    for name in ("quota_reserved_workloads_total", "admitted_workloads_total"):
        assert world.value(name, **CQ, **HIGH) == 1
        assert world.value(f"local_queue_{name}", **LQ, **HIGH) == 1
    for name in ("quota_reserved_wait_time_seconds", "admission_wait_time_seconds"):
        assert world.value(f"{name}_sum", **CQ, **HIGH) == 10
        assert world.value(f"{name}_bucket", **CQ, **HIGH, le="5.0") == 0
        assert world.value(f"{name}_bucket", **CQ, **HIGH, le="10.0") == 1
    assert world.value("admission_checks_wait_time_seconds_count", **CQ, **HIGH) is None


def test_a_wait_for_checks_is_distinguished() -> None:
    world = World()
    world.happen(*queues(), submitted(ONE, 0), reserved(ONE, 4, "budget"))
    labels = {"reason": "UnsatisfiedAdmissionChecks", "underlying_cause": ""}
    assert world.value("unadmitted_workloads", **CQ, **labels) == 1
    assert world.value("admitted_active_workloads", **CQ) == 0
    world.happen(about(decisions.WorkloadAdmitted, ONE, 10))
    assert world.value("admission_checks_wait_time_seconds_sum", **CQ, **HIGH) == 6


def test_a_preemption_is_reported_from_both_sides_until_the_quota_is_free(world: World) -> None:
    world.happen(about(facts.PodsReadyReported, ONE, 15, ready=True))
    assert world.value("ready_wait_time_seconds_sum", **CQ, **HIGH) == 15
    assert world.value("admitted_until_ready_wait_time_seconds_sum", **CQ, **HIGH) == 5
    by = {"by": TWO, "by_cluster_queue": "right", "reason": "InCohortReclamation"}
    world.happen(
        about(decisions.WorkloadPreempted, ONE, 20, **by),
        about(decisions.WorkloadEvicted, ONE, 20, reason="Preempted"),
    )
    side = {"preempting_cluster_queue": "right", "reason": "InCohortReclamation"}
    assert world.value("preempted_workloads_total", **side) == 1
    causes = {"reason": "Preempted", "underlying_cause": ""}
    assert world.value("evicted_workloads_total", **CQ, **causes, **HIGH) == 1
    assert world.value("pods_ready_to_evicted_time_seconds_sum", **CQ, **causes) == 5
    world.happen(
        about(decisions.QuotaReleased, ONE, 23), about(decisions.WorkloadRequeued, ONE, 23)
    )
    left = world.value("workload_eviction_latency_seconds_sum", **CQ, reason="Preempted")
    assert left == 3
    # It waits out of the running until its preemptor has had its turn.
    assert world.value("pending_workloads", **CQ, status="inadmissible") == 1


def test_a_deactivated_workload_is_not_admitted_and_does_not_become_pending(world: World) -> None:
    """Source: Kueue's getUnadmittedWorkloadStatus, and the order of cases of its Update."""
    cause = {"reason": "NoReservation", "underlying_cause": "Deactivated"}
    assert world.value("unadmitted_workloads", **CQ, **cause) is None
    world.happen(
        about(decisions.WorkloadEvicted, ONE, 20, reason="Deactivated"),
        about(decisions.QuotaReleased, ONE, 23),
        about(decisions.WorkloadDeactivated, ONE, 23, reason="Deactivated"),
    )
    latency = world.value("workload_eviction_latency_seconds_count", **CQ, reason="Deactivated")
    assert latency is None
    assert world.value("unadmitted_workloads", **CQ, **cause) == 1
    local = {**LQ, **CQ, **cause}
    assert world.value("local_queue_unadmitted_workloads", **local) == 1
    for status in ("active", "inadmissible"):
        assert world.value("pending_workloads", **CQ, status=status) == 0


def test_only_an_eviction_of_ready_pods_ends_their_time(world: World) -> None:
    """Source: Kueue's workloadsWithPodsReadyToEvictedTime: PodsReady is True, and since when."""
    causes = {"reason": "PodsReadyTimeout", "underlying_cause": "WaitForRecovery"}
    ready, evicted = facts.PodsReadyReported, decisions.WorkloadEvicted
    stopped = {"reason": causes["reason"], "cause": causes["underlying_cause"]}
    world.happen(about(ready, ONE, 15, ready=True), about(ready, ONE, 20, ready=False))
    world.happen(about(evicted, ONE, 30, **stopped))
    assert world.value("pods_ready_to_evicted_time_seconds_count", **CQ, **causes) is None
    world.happen(reserved(ONE, 40), about(decisions.WorkloadAdmitted, ONE, 40))
    for when, is_ready in ((45, True), (50, False), (60, True)):
        world.happen(about(ready, ONE, when, ready=is_ready))
    world.happen(about(evicted, ONE, 67, **stopped))
    assert world.value("pods_ready_to_evicted_time_seconds_sum", **CQ, **causes) == 7
    assert world.value("admitted_until_ready_wait_time_seconds_sum", **CQ, **HIGH) == 5 + 5
    assert world.value("ready_wait_time_seconds_count", **CQ, **HIGH) == 1


def test_a_slice_that_another_replaced_is_counted_until_its_queue_is_gone(world: World) -> None:
    assert world.value("replaced_workload_slices_total", **CQ) is None
    world.happen(about(decisions.QuotaReleased, ONE, 12, reason="WorkloadSliceReplaced"))
    assert world.value("replaced_workload_slices_total", **CQ) == 1
    world.happen(facts.ClusterQueueRemoved(at_us=at(13), name="left"))
    assert world.value("replaced_workload_slices_total", **CQ) is None


def test_a_second_eviction_for_one_cause_is_not_a_first_one(world: World) -> None:
    for when in (20, 40):
        world.happen(
            about(decisions.WorkloadEvicted, ONE, when, reason="Preempted"),
            about(decisions.QuotaReleased, ONE, when + 1),
            about(decisions.WorkloadRequeued, ONE, when + 1),
            reserved(ONE, when + 5),
            about(decisions.WorkloadAdmitted, ONE, when + 5),
        )
    causes = {"reason": "Preempted", "underlying_cause": "", **CQ, **HIGH}
    assert world.value("evicted_workloads_total", **causes) == 2
    assert world.value("evicted_workloads_once_total", **causes) == 1
    assert world.value("admission_wait_time_seconds_sum", **CQ, **HIGH) == 10 + 4 + 4
    world.happen(about(facts.WorkloadFinished, ONE, 50))
    assert world.value("finished_workloads_total", **CQ, **HIGH) == 1
    assert world.value("finished_workloads", **CQ) == 1
    assert world.value("execution_time_seconds_sum", **CQ, **HIGH) == 10 + 15 + 5


def test_after_a_restart_the_gauges_are_the_same_and_counters_go_on(world: World) -> None:
    again = World()
    for event in world.events:
        apply(again.state, event)
    assert again.gauges() == world.gauges()
    assert len(again.gauges()) > 40
    assert again.value("admitted_workloads_total", **CQ, **HIGH) is None
    again.happen(about(decisions.WorkloadEvicted, ONE, 30, reason="Preempted"))
    again.happen(about(facts.WorkloadFinished, ONE, 31))
    assert again.value("execution_time_seconds_sum", **CQ, **HIGH) == 20


def test_a_queue_that_is_gone_leaves_no_series(world: World) -> None:
    world.happen(about(facts.WorkloadFinished, ONE, 50), about(facts.WorkloadRemoved, ONE, 51))
    world.happen(
        facts.LocalQueueRemoved(at_us=at(60), name="main", namespace="left"),
        facts.ClusterQueueRemoved(at_us=at(60), name="left"),
    )
    lines = [line for line in world.page().splitlines() if not line.startswith("#")]
    assert [line for line in lines if '"left"' in line] == []
    assert [line for line in lines if '"right"' in line]


def test_what_the_configuration_leaves_out_is_left_out() -> None:
    world = World(NONE, resources=False)
    world.happen(*queues(), submitted(ONE, 0), reserved(ONE, 4))
    page = world.page()
    assert "local_queue_" not in page
    assert "nominal_quota" not in page
    assert world.value("reserving_active_workloads", **CQ) == 1


def test_a_turns_duration_has_the_buckets_of_kueues_client(world: World) -> None:
    world.status.meter.count_cycle([reserved(TWO, 12)], 0.07)
    lines = [
        line for line in world.page().splitlines() if "attempt_duration_seconds_bucket" in line
    ]
    bounds = [line.partition('le="')[2].partition('"')[0] for line in lines]
    assert " ".join(bounds) == "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1.0 2.5 5.0 10.0 +Inf"


def test_a_turn_is_an_attempt_if_it_tried_a_workload(world: World) -> None:
    held = about(decisions.WorkloadPending, TWO, 11, reason="WaitingForQuota")
    world.status.meter.count_cycle([held], 0.25)
    world.status.meter.count_cycle([held, reserved(TWO, 12)], 0.5)
    world.status.meter.count_cycle([about(decisions.QuotaReleased, ONE, 13)], 1)
    assert world.value("admission_attempts_total", result="inadmissible") == 1
    assert world.value("admission_attempts_total", result="success") == 1
    assert world.value("admission_attempt_duration_seconds_sum", result="success") == 0.5
    world.happen(held)
    labels = {"reason": "NoReservation", "underlying_cause": "WaitingForQuota"}
    assert world.value("unadmitted_workloads", cluster_queue="right", **labels) == 1
