"""The states of admission checks in a Workload's status, as an observation tells them."""

from __future__ import annotations

from tidegate.contracts.observations import CheckSeen
from tidegate.kinds.kueue_api.workloads.status import CheckState, PodSetUpdate
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.names import CHECKS_SINCE
from tidegate.kinds.podsets import toleration
from tidegate.model import podset

MESSAGE_MAX = 1_024


def check_states(found: Workload) -> tuple[CheckSeen, ...]:
    """Return what the controllers of a Workload's checks say, by name."""
    told = (_seen(one) for one in found.status.admission_checks)
    return tuple(sorted(told, key=lambda one: one.name))


def checks_since(found: Workload) -> str:
    """Return the decision that the states follow, "<ledger id>/<seq>"; empty if none is noted."""
    told = found.status.conditions
    return next((one.message for one in told if one.type == CHECKS_SINCE), "")


def _seen(found: CheckState) -> CheckSeen:
    return CheckSeen(
        name=found.name,
        state=found.state,
        message=found.message[:MESSAGE_MAX],
        requeue_after_s=found.requeue_after_seconds or 0,
        updates=tuple(_update(one) for one in found.pod_set_updates),
    )


def _update(found: PodSetUpdate) -> podset.PodSetUpdate:
    return podset.PodSetUpdate(
        name=found.name,
        labels=found.labels,
        annotations=found.annotations,
        node_selector=found.node_selector,
        tolerations=tuple(toleration(one) for one in found.tolerations),
    )
