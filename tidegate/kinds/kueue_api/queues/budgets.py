"""The annotation ``tidegate.dev/budget``: ``cpu=1000/month hard, nvidia.com/gpu=40/week``.

Amounts are quantities times hours. What is not exactly that is refused, as every field that cannot
be parsed: a budget without effect would be worse than none.
"""

from __future__ import annotations

import re

from tidegate.errors import QuantityError
from tidegate.kinds.kueue_api.queues.quota_conversion import located
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import BUDGET
from tidegate.model.calendar import Period
from tidegate.model.quantity import amount
from tidegate.model.quota import Budget

TEXT_MAX, BUDGETS_MAX = 1_024, 16
HOURS_MAX = 1 << 60
"""So many base units times hours are the most that a budget may be."""
PATTERN = (
    "^ *([A-Za-z0-9][-A-Za-z0-9_./]{0,315}) *= *([0-9.]{1,20}[A-Za-z]{0,2}) */ *"
    "(day|week|month)( +(soft|hard))? *$"
)
"""How one budget is written; the admission policy has it, too."""
_ONE = re.compile(PATTERN, re.ASCII)
_PERIODS: dict[str, Period] = {"day": "day", "week": "week", "month": "month"}
_SAID = "a list such as cpu=1000/month hard, nvidia.com/gpu=40/week"


def budgets(metadata: ObjectMeta) -> tuple[Budget, ...]:
    """Return the budgets of an object's annotation, in order of their resources.

    Raises:
        UndecodableError: it cannot be parsed; the message has the cause.
    """
    text = metadata.annotations.get(BUDGET, "")
    path = f"metadata.annotations[{BUDGET}]"
    return located(path, lambda: read(text)) if text else ()


def read(text: str) -> tuple[Budget, ...]:
    """Return the budgets in an annotation's text, in order of their resources.

    Raises:
        QuantityError: it is no list of budgets, or names a resource twice.
    """
    if len(text) > TEXT_MAX:
        raise QuantityError(f"{len(text)} characters are too many: {TEXT_MAX} are the most.")
    parts = text.split(",")
    if len(parts) > BUDGETS_MAX:
        raise QuantityError(f"{len(parts)} budgets are too many: {BUDGETS_MAX} are the most.")
    by_resource = {budget.resource: budget for budget in map(_one, parts)}
    if len(by_resource) < len(parts):
        raise QuantityError("A resource has one budget, and not two.")
    return tuple(by_resource[name] for name in sorted(by_resource))


def _one(text: str) -> Budget:
    match = _ONE.fullmatch(text)
    if match is None:
        raise QuantityError(f"{text[:80]!r} is no budget: write {_SAID}.")
    resource, quantity, named, _, kind = match.groups()
    period = _PERIODS[named]
    hours = amount(resource, quantity)
    if not 0 <= hours <= HOURS_MAX:
        raise QuantityError(f"{quantity} of {resource} is more than a budget may be.")
    return Budget(resource=resource, hours=hours, period=period, hard=kind == "hard")
