"""Holdings: workloads' quota by flavor and resource over time; their sum is the usage.

One row a podset, flavor and resource; when pods are done for good the row ends and a smaller one
begins, so that an integral over the rows is exact; so it is when an elastic job becomes smaller.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

import msgspec
from msgspec.structs import replace

from store.reporting.rows import HoldingRow, WorkloadRow
from store.reporting.unit_of_work import Place, UnitOfWork
from tidegate.contracts import decisions, facts
from tidegate.model.podset import PodSetAssignment

Projected: TypeAlias = (
    decisions.QuotaReserved
    | decisions.QuotaReleased
    | facts.WorkloadAdopted
    | facts.PodsReclaimed
    | facts.WorkloadChanged
    | facts.WorkloadFinished
    | facts.WorkloadRemoved
)


def take(unit: UnitOfWork, at: Place, event: Projected) -> None:
    """Begin, shrink or end what a workload holds."""
    match event:
        case decisions.QuotaReserved() | facts.WorkloadAdopted():
            if (row := unit.live.get(event.workload)) is not None:
                _end(unit, at, event.workload)
                holdings = [_hold(unit, at, row, podset) for podset in event.assignment]
                unit.holdings_of[event.workload] = [
                    holding for each in holdings for holding in each
                ]
        case facts.PodsReclaimed():
            _shrink(unit, at, event.workload)
        case facts.WorkloadChanged():
            if event.elastic:
                _shrink(unit, at, event.workload)
        case decisions.QuotaReleased() | facts.WorkloadFinished() | facts.WorkloadRemoved():
            _end(unit, at, event.workload)
        case _:
            assert_never(event)


def _hold(
    unit: UnitOfWork, at: Place, row: WorkloadRow, assignment: PodSetAssignment
) -> list[HoldingRow]:
    pods = min(assignment.count, _left(row, assignment.name, assignment.count))
    return [
        unit.holdings.add(
            HoldingRow(
                partition=at.partition,
                from_seq=at.seq,
                podset=assignment.name,
                flavor=flavor,
                resource=resource,
                reservation_seq=at.seq,
                submitted_seq=row.submitted_seq,
                cluster=row.cluster,
                cluster_queue=row.cluster_queue,
                local_queue=row.local_queue,
                namespace=row.namespace,
                workload=row.workload,
                uid=row.uid,
                author=row.author,
                priority_class=row.priority_class,
                priority=row.priority,
                pods_assigned=assignment.count,
                amount_assigned=amount,
                pods=pods,
                amount=_part(amount, assignment.count, pods),
                from_us=at.at_us,
            )
        )
        for resource, flavor in assignment.flavors.items()
        if (amount := assignment.usage.get(resource, 0))
    ]


def _shrink(unit: UnitOfWork, at: Place, workload: str) -> None:
    row = unit.live.get(workload)
    if row is None or workload not in unit.holdings_of:
        return
    remaining = list[HoldingRow]()
    for holding in unit.holdings_of[workload]:
        pods = min(holding.pods_assigned, _left(row, holding.podset, holding.pods_assigned))
        if pods == holding.pods:
            remaining.append(holding)
            continue
        _close(unit, at, holding)
        smaller = replace(
            holding,
            from_seq=at.seq,
            from_us=at.at_us,
            to_us=None,
            to_seq=None,
            pods=pods,
            amount=_part(holding.amount_assigned, holding.pods_assigned, pods),
        )
        remaining.append(unit.holdings.add(smaller))
    unit.holdings_of[workload] = remaining


def _left(row: WorkloadRow, podset: str, assigned: int) -> int:
    """Return how many of a podset's pods still count.

    Source: behaviour.md 1, "Reserved WL", as in ``tidegate.core.quota.charging``.
    """
    reclaimed = msgspec.json.decode(row.pods, type=dict[str, int]).get(podset, assigned)
    done = msgspec.json.decode(row.reclaimed, type=dict[str, int]).get(podset, 0)
    return max(0, reclaimed - done)


def _part(amount: int, assigned: int, pods: int) -> int:
    return amount if pods == assigned else amount // assigned * pods


def _end(unit: UnitOfWork, at: Place, workload: str) -> None:
    for holding in unit.holdings_of.pop(workload, []):
        _close(unit, at, holding)


def _close(unit: UnitOfWork, at: Place, holding: HoldingRow) -> None:
    holding.to_us, holding.to_seq = at.at_us, at.seq
    unit.usage.end(holding, at.at_us)
