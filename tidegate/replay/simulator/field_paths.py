"""Parses settings of single fields: ``clusterqueue/team-a.cpu=40``.

Before the first ``=`` are a kind, ``/``, a name, a dot and a field. A quota is named by its
resource, or by flavor and resource if there are several flavors:
``clusterqueue/team-a.spot.nvidia.com/gpu.borrowingLimit=8``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tidegate.contracts import facts
from tidegate.contracts.facts import FactEvent
from tidegate.errors import QuantityError, SettingsError, existing
from tidegate.kinds.kueue_api.queues import own_annotations
from tidegate.model.policy import DEFAULT_STRATEGIES, Policy
from tidegate.model.quantity import amount, parse_quantity
from tidegate.model.quota import (
    WEIGHT_ONE,
    Budget,
    ClusterQueueSpec,
    FlavorQuotas,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
    quotas_of,
)
from tidegate.replay.simulator.changes import POLICY, Setting, Target, target_of

ALIASES = {"cq": "clusterqueue", "lq": "localqueue"}
LIMITS = {
    "nominalQuota": "nominal",
    "borrowingLimit": "borrowing_limit",
    "lendingLimit": "lending_limit",
}
NONE = "none"
"""The value that removes a borrowing or lending limit, or all budgets."""


class Field(NamedTuple):
    """A field that is not a quota: its path, and the parser of its value."""

    path: tuple[str, ...]  # attributes from the spec on
    read: Callable[[str], Any]


def _parse_weight(text: str) -> int:
    weight: Fraction = parse_quantity(text) * WEIGHT_ONE
    if weight < 0:
        raise ValueError(f"{text} is negative")
    return -(-weight.numerator // weight.denominator)


def _parse_strategies(text: str) -> tuple[str, ...]:
    return DEFAULT_STRATEGIES if msgspec.convert(text, bool, strict=False) else ()


def _parse_budgets(text: str) -> tuple[Budget, ...]:
    return () if text == NONE else own_annotations.read_budgets(text)


FIELDS: dict[str, dict[str, Field]] = {
    "clusterqueue": {
        "cohort": Field(("cohort",), str),
        "queueingStrategy": Field(("strategy",), str),
        "stopPolicy": Field(("stop_policy",), str),
        "weight": Field(("weight",), _parse_weight),
        "budget": Field(("budgets",), _parse_budgets),
        "preemption.withinClusterQueue": Field(("preemption", "within_cluster_queue"), str),
        "preemption.reclaimWithinCohort": Field(("preemption", "reclaim_within_cohort"), str),
        "preemption.borrowWithinCohort": Field(("preemption", "borrow_within_cohort"), str),
        "flavorFungibility.whenCanBorrow": Field(("fungibility", "when_can_borrow"), str),
        "flavorFungibility.whenCanPreempt": Field(("fungibility", "when_can_preempt"), str),
    },
    "cohort": {
        "parent": Field(("parent",), str),
        "weight": Field(("weight",), _parse_weight),
        "budget": Field(("budgets",), _parse_budgets),
    },
    "localqueue": {
        "clusterQueue": Field(("cluster_queue",), str),
        "stopPolicy": Field(("stop_policy",), str),
        "weight": Field(("weight",), _parse_weight),
    },
    "workloadpriorityclass": {"value": Field(("value",), int)},
    "priorityclass": {"value": Field(("value",), int)},
    "workload": {
        "priority": Field(("priority",), int),
        "priorityClass": Field(("priority_class",), str),
        "queue": Field(("queue",), str),
    },
    "policy": {
        "fairSharing": Field(("fair_sharing",), _parse_strategies),
        "compatibility": Field(("compatibility",), str),
    },
}
"""The fields that can be set beside quotas, by kind."""
WITH_QUOTA = ("clusterqueue", "cohort")
_Specced = (facts.ClusterQueueDefined, facts.CohortDefined, facts.LocalQueueDefined)


def read_setting(text: str, targets: Iterable[Target]) -> Setting:
    """Parse one setting.

    Args:
        text: e.g. ``clusterqueue/team-a.cpu=40``.
        targets: the existing objects; the longest matching name is taken.

    Raises:
        SettingsError: the text is no setting, or names an unknown object or field; the message
            lists the existing ones.
    """
    field_text, equals, value = text.partition("=")
    if not equals:
        raise SettingsError(f"--set {text}: write KIND/NAME.FIELD=VALUE, e.g. {_EXAMPLE}.")
    target, path = _split(text, field_text, targets)
    field = FIELDS[target[0]].get(path)
    if field is None and target[0] not in WITH_QUOTA:
        raise SettingsError(
            f"--set {text}: there is no field {path!r}; there are {', '.join(FIELDS[target[0]])}."
        )
    change = _field_change(field, text, value) if field else _quota_change(path, text, value)
    return Setting(target=target, text=text, change=change)


def fields_of(fact: FactEvent) -> str:
    """Return the fields of an object that can be set, for a message."""
    quotas = list[str]()
    if isinstance(fact, facts.ClusterQueueDefined | facts.CohortDefined):
        quotas = [f"{flavor}.{resource}" for (flavor, resource), _ in quotas_of(fact.spec.groups)]
    target = target_of(fact)
    return ", ".join([*quotas, *FIELDS.get("" if target is None else target[0], ())])


def _split(text: str, field_text: str, targets: Iterable[Target]) -> tuple[Target, str]:
    kind, slash, rest = field_text.partition("/")
    if kind.startswith("policy."):
        return POLICY, field_text.partition(".")[2]
    kind = ALIASES.get(kind.lower(), kind.lower())
    if not slash or kind not in FIELDS:
        kinds = ", ".join(kind_name for kind_name in FIELDS if kind_name != "policy")
        raise SettingsError(f"--set {text}: it begins with one of {kinds} and /, or policy.")
    names = sorted(name for of, name in targets if of == kind)
    fitting = [name for name in names if rest.startswith(f"{name}.")]
    if not fitting:
        listed = ", ".join(names[:_SHOWN])
        raise SettingsError(f"--set {text}: no such {kind}. {existing(listed)}")
    name = max(fitting, key=len)
    return (kind, name), rest[len(name) + 1 :]


def _field_change(field: Field, text: str, value: str) -> Callable[[FactEvent], FactEvent]:
    try:
        new_value = field.read(value)
    except (ValueError, QuantityError, msgspec.ValidationError) as error:
        raise SettingsError(f"--set {text}: {value!r} cannot be read: {error}") from error

    def change(fact: FactEvent) -> FactEvent:
        if isinstance(fact, _Specced):
            return _unless_equal(
                fact, replace(fact, spec=_with_value(fact.spec, field.path, new_value, text))
            )
        if isinstance(fact, facts.PolicyConfigured):
            return _unless_equal(
                fact, replace(fact, policy=_with_value(fact.policy, field.path, new_value, text))
            )
        return _unless_equal(fact, _with_value(fact, field.path, new_value, text))

    return change


def _unless_equal(before: FactEvent, after: FactEvent) -> FactEvent:
    """Return the same fact object if nothing changed: a setting to the same value has no effect."""
    return before if before == after else after


def _with_value(struct: Any, path: tuple[str, ...], new_value: Any, text: str) -> Any:  # noqa: ANN401 - any Struct
    name, *rest = path
    inner = _with_value(getattr(struct, name), tuple(rest), new_value, text) if rest else new_value
    after = replace(struct, **{name: inner})
    if isinstance(struct, ClusterQueueSpec | LocalQueueSpec | Policy):
        try:
            msgspec.convert(msgspec.to_builtins(after), type(after))
        except msgspec.ValidationError as error:
            raise SettingsError(f"--set {text}: {error}") from error
    return after


def _quota_change(path: str, text: str, value: str) -> Callable[[FactEvent], FactEvent]:
    def change(fact: FactEvent) -> FactEvent:
        if not isinstance(fact, facts.ClusterQueueDefined | facts.CohortDefined):
            return fact
        places = {place for spelling, place in _quota_names(fact.spec.groups) if spelling == path}
        if len(places) > 1:
            raise SettingsError(
                f"--set {text}: {path!r} is in several flavors: write one of {fields_of(fact)}."
            )
        if not places:
            return fact  # another version of it may have this quota
        [(flavor, resource, limit)] = places
        units = _parse_units(resource, limit, text, value)
        groups = tuple(
            _with_quota(group, flavor, resource, {limit: units}) for group in fact.spec.groups
        )
        return _unless_equal(fact, replace(fact, spec=replace(fact.spec, groups=groups)))

    return change


Place = tuple[str, str, str]


def _quota_names(groups: Iterable[ResourceGroup]) -> Iterator[tuple[str, Place]]:
    """Yield each name of a quota, with and without its flavor."""
    for (flavor, resource), _ in quotas_of(groups):
        for name in (f"{flavor}.{resource}", resource):
            yield name, (flavor, resource, "nominal")
            for message, limit in LIMITS.items():
                yield f"{name}.{message}", (flavor, resource, limit)


def _parse_units(resource: str, limit: str, text: str, value: str) -> int | None:
    if value == NONE and limit != "nominal":
        return None
    try:
        units = amount(resource, value)
    except QuantityError as error:
        raise SettingsError(f"--set {text}: {error}") from error
    if units < 0:
        raise SettingsError(f"--set {text}: {value} is negative.")
    return units


def _with_quota(
    group: ResourceGroup, flavor: str, resource: str, expected: dict[str, Any]
) -> ResourceGroup:
    def of(flavor_quotas: FlavorQuotas) -> FlavorQuotas:
        if flavor_quotas.flavor != flavor or resource not in flavor_quotas.quotas:
            return flavor_quotas
        quota: Quota = replace(flavor_quotas.quotas[resource], **expected)
        return replace(flavor_quotas, quotas={**flavor_quotas.quotas, resource: quota})

    return replace(group, flavors=tuple(map(of, group.flavors)))


_EXAMPLE = "clusterqueue/team-a.cpu=40"
_SHOWN = 20
