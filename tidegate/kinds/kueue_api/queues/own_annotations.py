"""Tidegate's own annotations on Kueue's quota objects: budgets, clusters, partitions.

``tidegate.dev/budget: cpu=1000/month hard, nvidia.com/gpu=40/week``: quantities times hours.
``tidegate.dev/clusters: east,west=Hold``: a flavor exists in both, and gets nothing new in west.

What is not exactly that is refused, as every field that cannot be parsed: a budget without effect
would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar, cast, get_args

from tidegate.contracts.subjects import CLUSTER_NAME
from tidegate.errors import QuantityError, UndecodableError
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import BUDGET, CLUSTERS, MOVE_TO, PARTITION, PLACEMENT, STATEMENT
from tidegate.model.calendar import PERIODS, Period
from tidegate.model.clusters import MEMBERS_MAX
from tidegate.model.ids import PARTITION_MAX, PARTITION_NUMBER
from tidegate.model.quantity import amount
from tidegate.model.quota import Budget, Placement, StopPolicy
from tidegate.model.texts import parse_whole

T = TypeVar("T")
_STATEMENT = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])=[0-9a-f]{64}", re.ASCII)
_SHOWN_MAX = 40
BUDGET_TEXT_MAX, BUDGETS_MAX = 1_024, 16
HOURS_MAX = 1 << 60
"""So many base units times hours are the most that a budget may be."""
BUDGET_PATTERN = (
    "^ *([A-Za-z0-9][-A-Za-z0-9_./]{0,315}) *= *([0-9.]{1,20}[A-Za-z]{0,2}) */ *"
    "(day|week|month)( +(soft|hard))? *$"
)
"""How one budget is written; the admission policy has it, too."""
_BUDGET = re.compile(BUDGET_PATTERN, re.ASCII)
_PERIODS: dict[str, Period] = {period: period for period in PERIODS}
_BUDGETS_SAID = "a list such as cpu=1000/month hard, nvidia.com/gpu=40/week"
_POLICIES = get_args(StopPolicy)
STAY = "stay"
_PLACEMENTS = get_args(Placement)


def partition_of(metadata: ObjectMeta) -> int:
    """Return the partition that an object names; 0 if it names none.

    Raises:
        UndecodableError: there is no such partition.
    """
    return _number(PARTITION, metadata.annotations.get(PARTITION, "0"))


def move_to_of(metadata: ObjectMeta) -> int | None:
    """Return the partition that an object is to move to; None if it names none.

    Raises:
        UndecodableError: there is no such partition.
    """
    text = metadata.annotations.get(MOVE_TO)
    return None if text is None else _number(MOVE_TO, text)


def _number(key: str, text: str) -> int:
    number = parse_whole(text) if re.fullmatch(PARTITION_NUMBER, text) else None
    if number is None:
        raise UndecodableError(
            f"metadata.annotations[{key}]: {text[:_SHOWN_MAX]!r} is no number from 0 to "
            f"{PARTITION_MAX}"
        )
    return number


def statement_of(metadata: ObjectMeta) -> str:
    """Return the month that a ClusterQueue's annotation closes, and the digest; empty: none.

    Raises:
        UndecodableError: the annotation is neither.
    """
    text = metadata.annotations.get(STATEMENT, "")
    if text and not _STATEMENT.fullmatch(text):
        problem = "is not a month and the SHA-256 of its statement, such as 2026-03=9f86d081…"
        raise UndecodableError(f"metadata.annotations[{STATEMENT}] {problem}")
    return text


def read_field(path: str, read: Callable[[], T]) -> T:
    """Read a value; an error names the path of its field.

    Raises:
        UndecodableError: it cannot be read.
    """
    try:
        return read()
    except (QuantityError, UndecodableError) as error:
        raise UndecodableError(f"{path}: {error}") from error


def read_annotation(metadata: ObjectMeta, key: str, read: Callable[[str], T], absent: T) -> T:
    """Read an annotation; ``absent`` if there is none. Errors as ``read_field``."""
    text = metadata.annotations.get(key, "")
    return read_field(f"metadata.annotations[{key}]", lambda: read(text)) if text else absent


def budgets(metadata: ObjectMeta) -> tuple[Budget, ...]:
    """Return the budgets of an object's annotation, in order of their resources.

    Raises:
        UndecodableError: it cannot be parsed; the message has the cause.
    """
    return read_annotation(metadata, BUDGET, read_budgets, ())


def read_budgets(text: str) -> tuple[Budget, ...]:
    """Return the budgets in an annotation's text, in order of their resources.

    Raises:
        QuantityError: it is no list of budgets, or names a resource twice.
    """
    parts = split_items(text, BUDGET_TEXT_MAX, "budgets", BUDGETS_MAX)
    by_resource = {budget.resource: budget for budget in map(_budget, parts)}
    if len(by_resource) < len(parts):
        raise QuantityError("A resource has one budget, and not two.")
    return tuple(by_resource[name] for name in sorted(by_resource))


def _budget(text: str) -> Budget:
    match = _BUDGET.fullmatch(text)
    if match is None:
        raise QuantityError(f"{text[:80]!r} is no budget: write {_BUDGETS_SAID}.")
    resource, quantity, named, _, kind = match.groups()
    period = _PERIODS[named]
    hours = amount(resource, quantity)
    if not 0 <= hours <= HOURS_MAX:
        raise QuantityError(f"{quantity} of {resource} is more than a budget may be.")
    return Budget(resource=resource, hours=hours, period=period, hard=kind == "hard")


def split_items(text: str, text_max: int, items: str, items_max: int) -> list[str]:
    """Return the items of a list with commas; ``items`` is what they are called.

    Raises:
        QuantityError: the list is too long.
    """
    if len(text) > text_max:
        raise QuantityError(f"{len(text)} characters are too many: {text_max} are the most.")
    parts = text.split(",")
    if len(parts) > items_max:
        raise QuantityError(f"{len(parts)} {items} are too many: {items_max} are the most.")
    return parts


def clusters_of(metadata: ObjectMeta) -> tuple[tuple[str, ...], dict[str, StopPolicy]]:
    """Return the clusters in which a flavor exists, and which of these are stopped; none: the hub.

    Raises:
        UndecodableError: there is no such cluster name or stop policy, or one stands there twice.
    """
    text = metadata.annotations.get(CLUSTERS)
    if text is None:
        return (), {}
    path = f"metadata.annotations[{CLUSTERS}]"
    clusters: dict[str, StopPolicy] = {}
    for entry in text.split(","):
        name, policy = _cluster(path, entry)
        if name in clusters:
            raise UndecodableError(f"{path}: {name} stands there twice")
        clusters[name] = policy
    if len(clusters) > MEMBERS_MAX:
        raise UndecodableError(f"{path} names more than {MEMBERS_MAX} clusters")
    stops: dict[str, StopPolicy] = {}
    for name in sorted(clusters):
        if clusters[name] != "None":
            stops[name] = clusters[name]
    return tuple(sorted(clusters)), stops


def _cluster(path: str, text: str) -> tuple[str, StopPolicy]:
    name, mark, policy = (part.strip() for part in text.partition("="))
    if not re.match(CLUSTER_NAME, name):
        raise UndecodableError(f"{path}: {name!r} is no cluster's name")
    if mark and policy not in _POLICIES:
        raise UndecodableError(f"{path}: {policy!r} is none of {', '.join(_POLICIES)}")
    return name, cast("StopPolicy", policy) if mark else "None"


def clusters_text(clusters: tuple[str, ...], stops: dict[str, StopPolicy]) -> str:
    """Return the annotation that says this; the inverse of ``clusters_of``."""
    policies = ((name, stops.get(name, "None")) for name in clusters)
    return ",".join(name if policy == "None" else f"{name}={policy}" for name, policy in policies)


def placement_of(metadata: ObjectMeta) -> Placement:
    """Return where the jobs of a LocalQueue run; see ``LocalQueueSpec.placement``.

    Raises:
        UndecodableError: it is no placement.
    """
    placement = metadata.annotations.get(PLACEMENT, STAY)
    if placement not in _PLACEMENTS:
        raise UndecodableError(
            f"metadata.annotations[{PLACEMENT}]: {placement!r} is none of {', '.join(_PLACEMENTS)}"
        )
    return cast("Placement", placement)
