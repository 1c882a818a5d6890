"""Describes definitions: a queue's quotas and stop policy, a flavor's prices, the author."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decision_kinds.queues import ClusterQueueReadinessChanged
from tidegate.contracts.facts import (
    ClusterQueueDefined,
    CohortDefined,
    Event,
    FlavorDefined,
    LocalQueueDefined,
)
from tidegate.model.quantity import format_quantity
from tidegate.model.quota import Budget, Price, Quota, ResourceGroup
from tidegate.model.texts import printable


def definition_text(event: Event) -> str:
    """Return a definition as text, or only its name for kinds without further details."""
    if isinstance(event, ClusterQueueReadinessChanged):
        return "Admits workloads." if event.active else f"Admits no workloads: {event.message}"
    namespace, name = getattr(event, "namespace", ""), getattr(event, "name", "")
    named = f"{namespace}/{name}" if namespace else str(name)
    return ", ".join(filter(None, (named, *_definition_parts(event))))


def _definition_parts(event: Event) -> Iterator[str]:
    match event:
        case ClusterQueueDefined(spec=spec):
            yield f"in {spec.cohort}" if spec.cohort else ""
            yield from _quota_texts(spec.groups)
            yield from map(_budget_text, spec.budgets)
            yield _stop_policy_text(spec.stop_policy)
            closed, _, _ = event.statement.partition("=")
            yield f"statement of {closed}" if closed else ""
        case CohortDefined(spec=spec):
            yield f"in {spec.parent}" if spec.parent else ""
            yield from _quota_texts(spec.groups)
            yield from map(_budget_text, spec.budgets)
        case LocalQueueDefined(spec=spec):
            yield f"to {spec.cluster_queue}"
            yield _stop_policy_text(spec.stop_policy)
        case FlavorDefined(prices=prices):
            yield "; ".join(map(_price_text, prices))
        case _:
            pass
    if author := getattr(event, "author", ""):
        yield f"by {printable(author)}"


def _stop_policy_text(stop_policy: str) -> str:
    return "" if stop_policy == "None" else f"stopPolicy {stop_policy}"


def _quota_texts(groups: tuple[ResourceGroup, ...]) -> Iterator[str]:
    for group in groups:
        for flavor in group.flavors:
            quotas = (_quota_text(resource, quota) for resource, quota in flavor.quotas.items())
            yield " ".join((flavor.flavor, *quotas))


def _quota_text(resource: str, quota: Quota) -> str:
    limits = (("borrows", quota.borrowing_limit), ("lends", quota.lending_limit))
    text = ", ".join(
        f"{verb} up to {format_quantity(resource, units)}"
        for verb, units in limits
        if units is not None
    )
    return f"{resource}={format_quantity(resource, quota.nominal)}" + (f" ({text})" if text else "")


def _budget_text(budget: Budget) -> str:
    hours = f"{budget.resource}={format_quantity(budget.resource, budget.hours)}/{budget.period}"
    return f"budget {hours}{' hard' if budget.hard else ''}"


def _price_text(price: Price) -> str:
    """Return a price in the form of its annotation."""
    per = "" if price.units == 1 else f"/{format_quantity('', price.units).removeprefix('1')}"
    named = f"class {price.priority_class}" if price.priority_class else ""
    begin = f"from {price.begin}" if price.begin else ""
    end = f"until {price.end}" if price.end else ""
    cost = f"{price.resource}={price.cost} {price.currency}{per}"
    return " ".join(filter(None, (cost, price.quota, named, begin, end)))
