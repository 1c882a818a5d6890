"""Immutable fields of a Workload while it holds quota, as rules over the whole object."""

from __future__ import annotations

from tidegate.kinds.markers import Rule


def _true_of(which: str, condition: str) -> str:
    return (
        f"has({which}.status) && has({which}.status.conditions)"
        f" && {which}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
    )


def _fixed_while(condition: str, expression: str) -> str:
    """Put what nearly every write keeps first: going through conditions costs the API server."""
    return f"({expression}) || !({_true_of('oldSelf', condition)})"


def _same(path: str) -> str:
    *parents, field = path.split(".")
    new, old = ".".join(["self", *parents]), ".".join(["oldSelf", *parents])
    return (
        f"has({new}.{field}) == has({old}.{field})"
        f" && (!has({new}.{field}) || {new}.{field} == {old}.{field})"
    )


_REF, _OLD_REF = "self.spec.priorityClassRef", "oldSelf.spec.priorityClassRef"
_PLACES = "self.status.admission.podSetAssignments"
_DONE = "self.status.reclaimablePods"

WORKLOAD: tuple[Rule, ...] = (
    Rule(
        _fixed_while("QuotaReserved", _same("spec.queueName")),
        "queueName is immutable while quota is reserved",
        ".spec.queueName",
    ),
    Rule(
        _fixed_while(
            "QuotaReserved",
            f"has({_REF}) == has({_OLD_REF}) && (!has({_REF}) || ("
            f"{_REF}.group == {_OLD_REF}.group && {_REF}.kind == {_OLD_REF}.kind"
            f" && ({_REF}.kind != 'PriorityClass' || {_REF}.name == {_OLD_REF}.name)))",
        ),
        "priorityClassRef stays while quota is reserved, but for a WorkloadPriorityClass's name",
        ".spec.priorityClassRef",
    ),
    Rule(
        _fixed_while("Admitted", _same("spec.maximumExecutionTimeSeconds")),
        "maximumExecutionTimeSeconds is immutable while admitted",
        ".spec.maximumExecutionTimeSeconds",
    ),
    Rule(
        f"!has(self.status) || !has(self.status.admission) || !has({_PLACES})"
        f" || (has(self.spec.podSets) && size({_PLACES}) == size(self.spec.podSets)"
        f" && {_PLACES}.all(a, self.spec.podSets.exists(p, p.name == a.name)))",
        "admission.podSetAssignments has one entry for each of spec.podSets",
        ".status.admission",
    ),
    Rule(
        f"!has(self.status) || !has({_DONE}) || (has(self.spec.podSets) && {_DONE}.all(r,"
        " self.spec.podSets.exists(p, p.name == r.name && r.count <= p.count)))",
        "reclaimablePods[].count is at most the podset's count",
        ".status.reclaimablePods",
    ),
)
