"""Single rules of Kueue's, each on the smallest world that tells it from its neighbours."""

from __future__ import annotations

from tests.conformance.cases import Json
from tests.differential.scenarios import Scenario, key
from tests.differential.world import World
from tidegate.contracts.decisions import PreemptionIntended
from tidegate.contracts.facts import WorkloadChanged
from tidegate.core.queueing.heads import head

_GROUP = {"coveredResources": ["cpu"]}


def queue(name: str, more: Json | None = None) -> Json:
    """Return a ClusterQueue of one flavor."""
    flavors = [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "2"}]}]
    spec = {"resourceGroups": [{**_GROUP, "flavors": flavors}], **(more or {})}
    return {"name": name, "spec": spec}


def workload(name: str, priority: int, cpu: int = 2, at: str = "a") -> Json:
    """Return a workload of one pod."""
    podset = {"name": "main", "count": 1, "requests": {"cpu": f"{cpu}"}}
    return {"name": name, "queue": at, "priority": priority, "created": 0, "podSets": [podset]}


def world(queues: list[Json], workloads: list[Json], config: Json | None = None) -> World:
    """Return Kueue's world with a LocalQueue of its name to each ClusterQueue."""
    given = {
        "resourceFlavors": [{"name": name, "spec": {}} for name in ("spot", "other")],
        "clusterQueues": queues,
        "localQueues": [
            {"name": candidate_queue["name"], "clusterQueue": candidate_queue["name"]}
            for candidate_queue in queues
        ],
        "workloads": workloads,
    }
    return World(Scenario(id="rule", config=config or {}, input=given, steps=[]), "kueue")


def create(*names: str) -> Json:
    """Return the action that makes workloads appear."""
    return {"op": "create", "workloads": list(names)}


def moved(made: World, name: str, queue: str) -> WorkloadChanged:
    """Return the fact that a workload names another LocalQueue."""
    event = made.asked[name]
    return WorkloadChanged(
        at_us=made.now_us,
        workload=event.workload,
        uid=name,
        queue=queue,
        priority=event.priority,
        podsets=event.podsets,
    )


def test_a_preemptor_that_moves_to_another_queue_is_the_first_of_neither() -> None:
    within = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    made = world(
        [queue("a", within), queue("b")],
        [workload("low", 0), workload("high", 9), workload("c", 5)],
    )
    made.begin(0, [create("low")])
    made.cycle()
    made.begin(1, [create("high", "c")])
    made.cycle()
    assert made.state.sticky == {"a": key("high")}
    made.fold([moved(made, "high", "b")])
    actual_workload = head(made.state, "a")
    assert actual_workload is not None
    assert actual_workload.key == key("c")
    assert not made.state.sticky


def test_what_is_parked_is_tried_again_once_a_pending_workload_has_finished() -> None:
    """As once it was deleted or deactivated."""
    within = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    made = world(
        [queue("a", within)], [workload("runs", 5), workload("waits", 3), workload("ends", 2)]
    )
    made.begin(0, [create("runs")])
    made.cycle()
    made.begin(1, [create("waits", "ends")])
    made.cycle()
    made.cycle()
    assert head(made.state, "a") is None
    made.begin(2, [{"op": "finish", "workload": "ends"}])
    actual_workload = head(made.state, "a")
    assert actual_workload is not None
    assert actual_workload.key == key("waits")


def test_what_a_flavor_holds_that_was_taken_from_a_queue_is_not_reclaimed_by_share() -> None:
    """Kueue counts as borrowed only what the ClusterQueue has quota of."""
    shared = {"cohortName": "pool", "preemption": {"reclaimWithinCohort": "Any"}}
    fair = {"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare"]}}
    queues = [queue("a", shared), queue("b", shared)]
    made = world(queues, [workload("runs", 0, 4), workload("asks", 9, 2, "b")], fair)
    made.begin(0, [create("runs")])
    made.cycle()
    other = {"name": "other", "resources": [{"name": "cpu", "nominalQuota": "2"}]}
    changed = {**shared, "resourceGroups": [{**_GROUP, "flavors": [other]}]}
    update = {"op": "updateClusterQueue", "clusterQueue": "a", "spec": changed}
    made.begin(1, [update, create("asks")])
    assert not [decision for decision in made.cycle() if isinstance(decision, PreemptionIntended)]
