"""The fields that v1beta1 spells otherwise than v1beta2, and the patches that respell them.

Source: api.md 11.
"""

from __future__ import annotations

from typing import NamedTuple

from tidegate.kinds.kueue_api.v1beta1 import PRIORITY_SOURCES


class Spelling(NamedTuple):
    """One older spelling: when it is there, and the list of patches that takes it away."""

    there: str
    patches: str


def _move_field(path: str, new: str, value: str = "", when: str = "true") -> Spelling:
    """Return the patches that take a field out of ``path`` and put its value under ``new``.

    Where both are there the newer spelling holds, unless the older came with this very update.
    """
    parents = path.rpartition(".")[0]
    present = f"{_value_at(f'{parents}.{new}')}.hasValue()"
    fresh = f"request.operation == 'UPDATE' && {_value_at(path, 'oldObject')} != {_value_at(path)}"
    added = _patch("add", f"{parents}.{new}", value or f"object.{path}")
    moved = f"{_patch('remove', path)} + (({when}) && (!{present} || ({fresh})) ? {added} : [])"
    return _spelling_where(f"{_value_at(path)}.hasValue()", moved)


def _drop_field(path: str, when: str = "true") -> Spelling:
    return _spelling_where(f"{_value_at(path)}.hasValue() && {when}", _patch("remove", path))


def _replace_value(path: str, old: str, new: str) -> Spelling:
    return _spelling_where(
        f"{_value_at(path)}.orValue('') == '{old}'", _patch("replace", path, repr(new))
    )


def _spelling_where(condition: str, patches: str) -> Spelling:
    return Spelling(condition, f"({condition} ? {patches} : [])")


def _value_at(path: str, of: str = "object") -> str:
    return f"{of}.?{path.replace('.', '.?')}"


def _patch(op: str, path: str, value: str = "") -> str:
    suffix = f", value: {value}" if value else ""
    return f"[JSONPatch{{op: '{op}', path: '/{path.replace('.', '/')}'{suffix}}}]"


def _quantities() -> Spelling:
    """Return the spelling of quotas as numbers with a fraction, which the schema knows as text.

    Kueue's webhook reads and writes them before the schema is asked. A finer fraction than a
    thousandth stays, and is refused.
    """
    groups = "object.?spec.?resourceGroups.orValue([])"
    values = ", ".join(f"r.?{field}.orValue(0)" for field in _QUOTAS)
    fractions = (
        f"{groups}.exists(g, g.?flavors.orValue([]).exists(f, f.?resources.orValue([])"
        f".exists(r, [{values}].exists(q, type(q) == double))))"
    )
    fields = ", ".join(f"?'{field}': {_quantity(f'r.{field}')}" for field in _QUOTAS)
    resources = f"dyn(f.resources.map(r, {{'name': dyn(r.name), {fields}}}))"
    flavors = f"dyn(g.flavors.map(f, {{'name': dyn(f.name), 'resources': {resources}}}))"
    value = (
        "object.spec.resourceGroups"
        f".map(g, {{'coveredResources': dyn(g.coveredResources), 'flavors': {flavors}}})"
    )
    return _spelling_where(fractions, _patch("replace", "spec.resourceGroups", value))


def _quantity(path: str) -> str:
    """Return the optional value of a quota in thousandths if it is a number with a fraction."""
    value, milli = f"r.?{path.removeprefix('r.')}", f"int({path} * 1000.0 + 0.5)"
    thousandths = f"type({value}.orValue(0)) == double && double({milli}) / 1000.0 == {path}"
    return f"({thousandths} ? optional.of(dyn(string({milli}) + 'm')) : {value})"


_QUOTAS = ("nominalQuota", "borrowingLimit", "lendingLimit")
_SOURCE = "object.spec.?priorityClassSource.orValue('')"
_WORKLOAD_SOURCE = "kueue.x-k8s.io/workloadpriorityclass"
_PLACES = "object.?status.?admission.?podSetAssignments.orValue([])"
_DOMAINS = "a.topologyAssignment.domains"
SPECS: dict[str, tuple[Spelling, ...]] = {
    "clusterqueues": (
        _move_field("spec.cohort", "cohortName"),
        _move_field(
            "spec.admissionChecks",
            "admissionChecksStrategy",
            "{'admissionChecks': object.spec.admissionChecks.map(c, {'name': c})}",
            "size(object.spec.admissionChecks) > 0",
        ),
        _replace_value("spec.flavorFungibility.whenCanBorrow", "Borrow", "MayStopSearch"),
        _replace_value("spec.flavorFungibility.whenCanPreempt", "Preempt", "MayStopSearch"),
        _quantities(),
    ),
    "cohorts": (_move_field("spec.parent", "parentName"),),
    "localqueues": (),
    "resourceflavors": (),
    "workloads": (
        _move_field(
            "spec.priorityClassName",
            "priorityClassRef",
            "{'name': string(object.spec.priorityClassName),"
            f" 'group': {_SOURCE} == '{_WORKLOAD_SOURCE}'"
            " ? 'kueue.x-k8s.io' : 'scheduling.k8s.io',"
            f" 'kind': {_SOURCE} == '{_WORKLOAD_SOURCE}'"
            " ? 'WorkloadPriorityClass' : 'PriorityClass'}",
            f"{_SOURCE} in {sorted(PRIORITY_SOURCES)}",
        ),
        # What is neither stays, so that the schema refuses it by its name.
        _drop_field("spec.priorityClassSource", f"{_SOURCE} in {['', *sorted(PRIORITY_SOURCES)]}"),
    ),
    "workloadpriorityclasses": (),
    "admissionchecks": (_drop_field("spec.retryDelayMinutes"),),
    "provisioningrequestconfigs": (),
    "multikueueclusters": (
        _move_field("spec.kubeConfig", "clusterSource", "{'kubeConfig': object.spec.kubeConfig}"),
        _move_field(
            "spec.clusterProfileRef",
            "clusterSource",
            "{'clusterProfileRef': object.spec.clusterProfileRef}",
        ),
    ),
    "multikueueconfigs": (),
    "topologies": (),
}
STATUSES: dict[str, tuple[Spelling, ...]] = {
    "clusterqueues": (_drop_field("status.pendingWorkloadsStatus"),),
    "localqueues": (
        _move_field("status.flavorUsage", "flavorsUsage"),
        _drop_field("status.flavors"),
    ),
    "workloads": (
        _move_field(
            "status.accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds"
        ),
        # One slice a domain: the long form of what v1beta2 may write shorter.
        Spelling(
            f"{_PLACES}.exists(a, {_DOMAINS.replace('.', '.?')}.hasValue())",
            f"{_PLACES}.transformList(i, a, {_DOMAINS.replace('.', '.?')}.hasValue(), JSONPatch{{"
            "op: 'replace',"
            " path: '/status/admission/podSetAssignments/' + string(i) + '/topologyAssignment',"
            " value: {'levels': dyn(a.topologyAssignment.levels),"
            f" 'slices': dyn({_DOMAINS}.map(d, {{'domainCount': dyn(1),"
            " 'valuesPerLevel': dyn(d.values.map(v, {'universal': v})),"
            " 'podCounts': dyn({'universal': d.count})}))}})",
        ),
    ),
}
