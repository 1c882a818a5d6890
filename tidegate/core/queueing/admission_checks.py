"""Which admission checks a workload has to pass, MultiKueue's among them, and their states.

Source: behaviour.md 9.1; multikueue.md 1.3.
"""

from __future__ import annotations

from tidegate.core.state.state import State, Workload
from tidegate.model.multikueue import CONTROLLER
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


def are_checks_ready(
    state: State, workload: Workload, cluster_queue: str, assignment: tuple[PodSetAssignment, ...]
) -> bool:
    """Tell whether each check that a workload with this assignment has to pass is Ready."""
    names = required_checks(state, cluster_queue, assignment)
    checks = (workload.checks.get(name) for name in names)
    return all(check is not None and check.state == "Ready" for check in checks)


def has_unobserved_check(state: State, workload: Workload) -> bool:
    """Tell whether a required check was not observed in the Workload's status yet.

    Until then no check controller can answer. That the actuator has written it is not assumed.
    """
    if workload.phase != "reserved":
        return False
    names = required_checks(state, workload.cluster_queue, workload.assignment)
    own_check = multikueue_check(
        state, workload.cluster_queue
    )  # answered here, by no other controller
    return any(name not in workload.checks for name in names if name != own_check)


def multikueue_check(state: State, cluster_queue: str) -> str:
    """Return the name of a ClusterQueue's check of MultiKueue; empty: it has none."""
    defined = state.objects.charged_queue(cluster_queue)
    if defined is None or state.policy.multikueue is None:
        return ""
    check_defineds = state.objects.checks
    names = (rule.name for rule in defined.spec.checks if rule.name in check_defineds)
    return next((name for name in names if check_defineds[name].controller == CONTROLLER), "")


def check_state(workload: Workload, check: str) -> str:
    """Return the state of a workload's check: Pending if it has none yet."""
    state_of_check = workload.checks.get(check)
    return "Pending" if state_of_check is None else state_of_check.state
