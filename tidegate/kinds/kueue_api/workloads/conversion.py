"""What a Workload's status says to the core, and back: check states and topology assignments."""

from __future__ import annotations

from typing import Any

from tidegate.contracts.observations import CheckSeen
from tidegate.kinds.kueue_api.workloads.status import CheckState, PodSetUpdate
from tidegate.kinds.kueue_api.workloads.status import LevelValues as Values
from tidegate.kinds.kueue_api.workloads.status import TopologyAssignment as Assigned
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import Condition
from tidegate.kinds.names import CHECKS_SINCE
from tidegate.kinds.podsets import toleration
from tidegate.model import podset
from tidegate.model.topology import LevelValues, TopologyAssignment, TopologySlice

MESSAGE_MAX = 1_024


def check_states(workload: Workload) -> tuple[CheckSeen, ...]:
    """Return what the controllers of a Workload's checks say, by name."""
    states = (_check_seen(check) for check in workload.status.admission_checks)
    return tuple(sorted(states, key=lambda state: state.name))


def checks_since(workload: Workload) -> str:
    """Return the decision that the states follow, "<ledger id>/<seq>"; empty if none is noted."""
    condition = _checks_condition(workload)
    return "" if condition is None else condition.message


def checks_began_at(workload: Workload) -> str:
    """Return when the states began anew, RFC 3339 in whole seconds; empty if that is not noted."""
    condition = _checks_condition(workload)
    return "" if condition is None else condition.last_transition_time


def _checks_condition(workload: Workload) -> Condition | None:
    conditions = workload.status.conditions
    return next((condition for condition in conditions if condition.type == CHECKS_SINCE), None)


def _check_seen(check: CheckState) -> CheckSeen:
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


def topology_assignment(assignment: Assigned) -> TopologyAssignment:
    """Return where a podset's pods go, as a Workload shows it."""
    slices = tuple(
        TopologySlice(
            domains=topology_slice.domain_count,
            values=tuple(_level_values(values) for values in topology_slice.values_per_level),
            pods=topology_slice.pod_counts.universal or 0,
            pods_each=topology_slice.pod_counts.individual,
        )
        for topology_slice in assignment.slices
    )
    return TopologyAssignment(levels=assignment.levels, slices=slices)


def _level_values(values: Values) -> LevelValues:
    if values.individual is None:
        return LevelValues(universal=values.universal)
    own = values.individual
    return LevelValues(prefix=own.prefix or "", suffix=own.suffix or "", roots=own.roots)


def written_assignment(assignment: TopologyAssignment) -> dict[str, Any]:
    """Return a ``topologyAssignment`` as v1beta2 writes it."""
    slices = [
        {
            "domainCount": topology_slice.domains,
            "valuesPerLevel": [_written_values(values) for values in topology_slice.values],
            "podCounts": {"individual": list(topology_slice.pods_each)}
            if topology_slice.pods_each
            else {"universal": topology_slice.pods},
        }
        for topology_slice in assignment.slices
    ]
    return {"levels": list(assignment.levels), "slices": slices}


def _written_values(values: LevelValues) -> dict[str, Any]:
    if values.universal is not None:
        return {"universal": values.universal}
    around = {"prefix": values.prefix, "suffix": values.suffix}
    settings = {field: text for field, text in around.items() if text}
    return {"individual": {**settings, "roots": list(values.roots)}}
