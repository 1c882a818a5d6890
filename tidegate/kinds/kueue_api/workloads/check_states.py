"""The states of admission checks in a Workload's status, as an observation has them."""

from __future__ import annotations

from tidegate.contracts.observations import CheckSeen
from tidegate.kinds.kueue_api.workloads.status import CheckState, PodSetUpdate
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import Condition
from tidegate.kinds.names import CHECKS_SINCE
from tidegate.kinds.podsets import toleration
from tidegate.model import podset

MESSAGE_MAX = 1_024


def check_states(workload: Workload) -> tuple[CheckSeen, ...]:
    """Return what the controllers of a Workload's checks say, by name."""
    states = (_seen(check) for check in workload.status.admission_checks)
    return tuple(sorted(states, key=lambda state: state.name))


def checks_since(workload: Workload) -> str:
    """Return the decision that the states follow, "<ledger id>/<seq>"; empty if none is noted."""
    condition = _began(workload)
    return "" if condition is None else condition.message


def checks_began_at(workload: Workload) -> str:
    """Return when the states began anew, RFC 3339 in whole seconds; empty if that is not noted."""
    condition = _began(workload)
    return "" if condition is None else condition.last_transition_time


def _began(workload: Workload) -> Condition | None:
    conditions = workload.status.conditions
    return next((condition for condition in conditions if condition.type == CHECKS_SINCE), None)


def _seen(check: CheckState) -> CheckSeen:
    return CheckSeen(
        name=check.name,
        state=check.state,
        message=check.message[:MESSAGE_MAX],
        requeue_after_s=check.requeue_after_seconds or 0,
        updates=tuple(_update(update) for update in check.pod_set_updates),
    )


def _update(update: PodSetUpdate) -> podset.PodSetUpdate:
    return podset.PodSetUpdate(
        name=update.name,
        labels=update.labels,
        annotations=update.annotations,
        node_selector=update.node_selector,
        tolerations=tuple(toleration(written) for written in update.tolerations),
    )
