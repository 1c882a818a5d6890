"""Whether a ClusterQueue is active, and if not, why.

Source: behaviour.md 8.9; conformance/queue-readiness.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from tidegate.core.multikueue.nomination import check_activity
from tidegate.core.quota.partition_moves import moving_messages, partition_0_needs
from tidegate.core.state.budgets import spent_message
from tidegate.core.state.state import Objects, State
from tidegate.model.multikueue import CONTROLLER as MULTIKUEUE
from tidegate.model.quota import CheckRule

PROVISIONING = "kueue.x-k8s.io/provisioning-request"
"""The controller of checks that request nodes from an autoscaler."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a ClusterQueue's condition Active, as Kueue defines it."""

    active: bool
    reason: str  # of the first problem; Ready if there is none
    message: str = ""


def readiness(state: State, cluster_queue: str) -> Readiness:
    """Return whether a ClusterQueue may admit workloads; ignores cycles among its cohorts."""
    if cluster_queue not in state.objects.cluster_queues:
        return Readiness(active=False, reason="NotFound", message="There is no such ClusterQueue.")
    problems = list(_problems(state, cluster_queue))
    if not problems:
        return Readiness(active=True, reason="Ready", message="It can admit new workloads.")
    return Readiness(
        active=False, reason=problems[0][0], message=" ".join(message for _, message in problems)
    )


def _problems(state: State, cluster_queue: str) -> Iterator[tuple[str, str]]:
    defined = state.objects.cluster_queues[cluster_queue]
    spec, objects = defined.spec, state.objects
    if defined.deleting:
        yield "Terminating", "It is being deleted."
    if spec.stop_policy != "None":
        stop = objects.stops.get(cluster_queue)
        by = f", set by {stop.by}" if stop is not None and stop.by else ""
        yield "Stopped", f"Its stopPolicy is {spec.stop_policy}{by}."
    yield from (("Moving", text) for text in moving_messages(state, cluster_queue))
    if budget := spent_message(state, cluster_queue):
        yield "BudgetExhausted", f"{budget[0].upper()}{budget[1:]}."
    flavors = [flavor.flavor for group in spec.groups for flavor in group.flavors]
    if missing := [name for name in flavors if name not in objects.flavors]:
        yield "FlavorNotFound", f"There is no ResourceFlavor {', '.join(missing)}."
    if state.partition:
        yield from (("NotInThisPartition", text) for text in partition_0_needs(state, spec))
    elif lost := [name for name in flavors if _lacks_topology(objects, name)]:
        topologies = dict.fromkeys(objects.flavors[name].spec.topology for name in lost)
        names, named = ", ".join(lost), ", ".join(topologies)
        message = f"ResourceFlavor {names} has a topology, and there is no Topology {named}."
        yield "TopologyNotFound", message
    yield from _check_problems(state, spec.checks, set(flavors))


def _lacks_topology(objects: Objects, flavor: str) -> bool:
    defined = objects.flavors.get(flavor)
    topology = "" if defined is None else defined.spec.topology
    return bool(topology) and topology not in objects.topologies


def _check_problems(
    state: State, rules: Collection[CheckRule], flavors: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield problems with admission checks; a MultiKueue check's status does not count for this.

    Without ``multiKueue`` in the policy, such a check is never active.
    """
    defined, supported = state.objects.checks, state.policy.multikueue is not None
    if missing := [rule.name for rule in rules if rule.name not in defined]:
        yield "AdmissionCheckNotFound", f"There is no AdmissionCheck {', '.join(missing)}."
    checks_defined = [(rule, defined[rule.name]) for rule in rules if rule.name in defined]
    distant = [rule for rule, check in checks_defined if check.controller == MULTIKUEUE]
    idle = [rule.name for rule, check in checks_defined if rule not in distant and not check.active]
    own = [check for rule, check in checks_defined if rule in distant and supported]
    idle += [check.name for check in own if not check_activity(state, check).active]
    if idle:
        yield "AdmissionCheckInactive", f"AdmissionCheck {', '.join(idle)} is not active."
    if distant and not supported:
        names = ", ".join(rule.name for rule in distant)
        yield (
            "AdmissionCheckInactive",
            f"AdmissionCheck {names} needs multiKueue in the configuration.",
        )
    if len(distant) > 1:
        yield "MultipleMultiKueueAdmissionChecks", "Only one check may be of MultiKueue."
    if any(rule.on_flavors and {*rule.on_flavors} != flavors for rule in distant):
        message = "A check of MultiKueue is for all flavors: take its onFlavors away."
        yield "MultiKueueAdmissionCheckAppliedPerFlavor", message
    if distant and any(check.controller == PROVISIONING for _, check in checks_defined):
        message = "MultiKueue and ProvisioningRequests do not go together."
        yield "MultiKueueWithProvisioningRequest", message
