"""Which admission checks a workload has to pass, and whether its Workload object lists them.

Source: behaviour.md 9.1.
"""

from __future__ import annotations

from tidegate.core.multikueue.check import check_of
from tidegate.core.state.state import State, Workload
from tidegate.model.podset import PodSetAssignment


def required_checks(
    state: State, cluster_queue: str, assignment: tuple[PodSetAssignment, ...]
) -> list[str]:
    """Return the names of the checks that a workload with this assignment has to pass, sorted."""
    defined = state.objects.cluster_queues.get(cluster_queue)
    rules = () if defined is None else defined.spec.checks
    if not rules:
        return []
    flavors = {flavor for podset in assignment for flavor in podset.flavors.values()}
    return sorted(
        rule.name
        for rule in rules
        if not rule.on_flavors or not flavors.isdisjoint(rule.on_flavors)
    )


def are_ready(
    state: State, workload: Workload, cluster_queue: str, assignment: tuple[PodSetAssignment, ...]
) -> bool:
    """Tell whether each check that a workload with this assignment has to pass is Ready."""
    names = required_checks(state, cluster_queue, assignment)
    checks = (workload.checks.get(name) for name in names)
    return all(check is not None and check.state == "Ready" for check in checks)


def unasked(state: State, workload: Workload) -> bool:
    """Tell whether a required check was not observed in the Workload's status yet.

    Until then no check controller can answer. That the actuator has written it is not assumed.
    """
    if workload.phase != "reserved":
        return False
    names = required_checks(state, workload.cluster_queue, workload.assignment)
    own_check = check_of(state, workload.cluster_queue)  # answered here, by no other controller
    return any(name not in workload.checks for name in names if name != own_check)
