"""Quota history: the quota of each queue and cohort, from when to when, and its author."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from store.reporting.rows import QueueRow, QuotaRow, plain
from store.reporting.unit_of_work import Owner, Place, UnitOfWork
from tidegate.contracts import facts
from tidegate.model.quota import Quota, ResourceGroup

Taken: TypeAlias = (
    facts.ClusterQueueDefined
    | facts.ClusterQueueRemoved
    | facts.CohortDefined
    | facts.CohortRemoved
    | facts.LocalQueueDefined
    | facts.LocalQueueRemoved
)
_Standing: TypeAlias = tuple[str, int, str, str]  # parent, weight, strategy, stop policy
_Terms: TypeAlias = tuple[int, int | None, int | None]


def take(sheet: UnitOfWork, at: Place, event: Taken) -> None:
    """Record a queue's or cohort's quota and place in the tree, where they changed."""
    match event:
        case facts.ClusterQueueDefined():
            owner: Owner = ("ClusterQueue", event.name)
            spec = event.spec
            _grant(sheet, at, owner, spec.groups, plain(event.author))
            place: _Standing = (spec.cohort, spec.weight, spec.strategy, spec.stop_policy)
            _stand(sheet, at, owner, place, plain(event.author))
        case facts.CohortDefined():
            owner = ("Cohort", event.name)
            _grant(sheet, at, owner, event.spec.groups, plain(event.author))
            place = (event.spec.parent, event.spec.weight, "", "")
            _stand(sheet, at, owner, place, plain(event.author))
        case facts.LocalQueueDefined():
            local = event.spec
            owner = ("LocalQueue", f"{event.namespace}/{event.name}")
            place = (local.cluster_queue, local.weight, "", local.stop_policy)
            _stand(sheet, at, owner, place, "")
        case facts.ClusterQueueRemoved():
            _remove(sheet, at, ("ClusterQueue", event.name))
        case facts.CohortRemoved():
            _remove(sheet, at, ("Cohort", event.name))
        case facts.LocalQueueRemoved():
            _remove(sheet, at, ("LocalQueue", f"{event.namespace}/{event.name}"))
        case _:
            assert_never(event)


def _grant(
    sheet: UnitOfWork, at: Place, owner: Owner, groups: tuple[ResourceGroup, ...], author: str
) -> None:
    terms_before = {
        (flavor.flavor, resource): _terms(quota)
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }
    remaining = list[QuotaRow]()
    for row in sheet.granted.get(owner, []):
        terms = (row.nominal, row.borrowing_limit, row.lending_limit)
        if terms_before.get((row.flavor, row.resource)) == terms:
            del terms_before[row.flavor, row.resource]
            remaining.append(row)
        else:
            _end(row, at, author)
    for (flavor, resource), (nominal, borrowing, lending) in terms_before.items():
        remaining.append(
            sheet.quotas.add(
                QuotaRow(
                    partition=at.partition,
                    kind=owner[0],
                    owner=owner[1],
                    flavor=flavor,
                    resource=resource,
                    from_seq=at.seq,
                    nominal=nominal,
                    borrowing_limit=borrowing,
                    lending_limit=lending,
                    author=author,
                    from_us=at.at_us,
                )
            )
        )
    sheet.granted[owner] = remaining


def _stand(sheet: UnitOfWork, at: Place, owner: Owner, place: _Standing, author: str) -> None:
    old = sheet.standing.get(owner)
    if old is not None:
        if place == (old.parent, old.weight, old.strategy, old.stop_policy):
            return
        old.to_us, old.to_seq = at.at_us, at.seq
    parent, weight, strategy, stop_policy = place
    sheet.standing[owner] = sheet.queues.add(
        QueueRow(
            partition=at.partition,
            kind=owner[0],
            owner=owner[1],
            from_seq=at.seq,
            parent=parent,
            weight=weight,
            strategy=strategy,
            stop_policy=stop_policy,
            author=author,
            from_us=at.at_us,
        )
    )


def _remove(sheet: UnitOfWork, at: Place, owner: Owner) -> None:
    for row in sheet.granted.pop(owner, []):
        _end(row, at, "")
    if (place := sheet.standing.pop(owner, None)) is not None:
        place.to_us, place.to_seq = at.at_us, at.seq


def _end(row: QuotaRow, at: Place, author: str) -> None:
    row.to_us, row.to_seq, row.ended_by = at.at_us, at.seq, author


def _terms(quota: Quota) -> _Terms:
    return quota.nominal, quota.borrowing_limit, quota.lending_limit
