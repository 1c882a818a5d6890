"""Only LocalQueues whose labels are selected have series, however and whenever these change."""

from __future__ import annotations

from msgspec.structs import replace

from tests.scheduler.metrics_story import Told, World, about, at, queues, reserved, submitted
from tidegate.contracts import decisions, facts
from tidegate.model.podset import LabelSelector, Requirement
from tidegate.service.config.local_queue_metrics import LocalQueueMetrics

ONE, TWO = "left/one", "right/two"
SHOWN = Requirement(key="shown", operator="In", values=("yes",))
SELECTED = LocalQueueMetrics(selector=LabelSelector(expressions=(SHOWN,)))


def labelled(namespace: str, **labels: str) -> facts.LocalQueueDefined:
    defined = next(
        event
        for event in queues()
        if isinstance(event, facts.LocalQueueDefined) and event.namespace == namespace
    )
    return replace(defined, labels=labels)


def namespaces(world: World, counted: str = "") -> set[str]:
    """Return the namespaces of all series of LocalQueues, or of those of one name."""
    prefix = f"kueue_local_queue_{counted}"
    lines = [line for line in world.page().splitlines() if line.startswith(prefix)]
    assert all('name="main"' in line for line in lines)
    return {line.partition('namespace="')[2].partition('"')[0] for line in lines}


def admitted(workload: str, when: float) -> list[Told]:
    return [
        submitted(workload, when),
        reserved(workload, when + 1),
        about(decisions.WorkloadAdmitted, workload, when + 1),
    ]


def test_gauges_and_counters_are_of_the_selected_local_queues() -> None:
    world = World(SELECTED)
    world.happen(*queues(), labelled("left", shown="yes"), labelled("right", shown="no"))
    world.happen(*admitted(ONE, 1), *admitted(TWO, 1))
    assert namespaces(world) == {"left"}
    for name in ("admitted_workloads_total", "resource_usage", "status", "pending_workloads"):
        assert namespaces(world, name) == {"left"}
    for queue in ("left", "right"):
        assert world.value("admitted_active_workloads", cluster_queue=queue) == 1


def test_series_begin_and_end_with_the_label() -> None:
    world = World(SELECTED)
    world.happen(*queues(), labelled("left", shown="yes"), *admitted(ONE, 1), *admitted(TWO, 1))
    world.happen(labelled("left"), labelled("right", shown="yes"))
    assert namespaces(world) == {"right"}
    assert namespaces(world, "admitted_workloads_total") == set()
    for name in ("right/three", "left/three"):
        world.happen(*admitted(name, 9))
    assert namespaces(world, "admitted_workloads_total") == {"right"}
    labels = {"name": "main", "namespace": "right", "priority_class": "high"}
    assert world.value("local_queue_admitted_workloads_total", **labels) == 1
    assert world.value("admitted_workloads_total", cluster_queue="left", priority_class="high") == 2


def test_a_local_queue_that_is_gone_gets_no_series_by_what_ends_in_it_later() -> None:
    world = World()
    world.happen(*queues(), *admitted(ONE, 1))
    world.happen(facts.LocalQueueRemoved(at_us=at(5), name="main", namespace="left"))
    world.happen(about(facts.WorkloadFinished, ONE, 6))
    assert namespaces(world) == {"right"}
    assert world.value("finished_workloads_total", cluster_queue="left", priority_class="high") == 1
