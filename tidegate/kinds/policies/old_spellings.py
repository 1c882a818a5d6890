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


def _moved(path: str, new: str, value: str = "", when: str = "true") -> Spelling:
    """Return the patches that take a field out of ``path`` and put its value under ``new``.

    Where both are there the newer spelling holds, unless the older came with this very update.
    """
    parents = path.rpartition(".")[0]
    present = f"{_found(f'{parents}.{new}')}.hasValue()"
    fresh = f"request.operation == 'UPDATE' && {_found(path, 'oldObject')} != {_found(path)}"
    added = _patch("add", f"{parents}.{new}", value or f"object.{path}")
    moved = f"{_patch('remove', path)} + (({when}) && (!{present} || ({fresh})) ? {added} : [])"
    return _where(f"{_found(path)}.hasValue()", moved)


def _dropped(path: str, when: str = "true") -> Spelling:
    return _where(f"{_found(path)}.hasValue() && {when}", _patch("remove", path))


def _reworded(path: str, old: str, new: str) -> Spelling:
    return _where(f"{_found(path)}.orValue('') == '{old}'", _patch("replace", path, repr(new)))


def _where(condition: str, patches: str) -> Spelling:
    return Spelling(condition, f"({condition} ? {patches} : [])")


def _found(path: str, of: str = "object") -> str:
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
    return _where(fractions, _patch("replace", "spec.resourceGroups", value))


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
        _moved("spec.cohort", "cohortName"),
        _moved(
            "spec.admissionChecks",
            "admissionChecksStrategy",
            "{'admissionChecks': object.spec.admissionChecks.map(c, {'name': c})}",
            "size(object.spec.admissionChecks) > 0",
        ),
        _reworded("spec.flavorFungibility.whenCanBorrow", "Borrow", "MayStopSearch"),
        _reworded("spec.flavorFungibility.whenCanPreempt", "Preempt", "MayStopSearch"),
        _quantities(),
    ),
    "cohorts": (_moved("spec.parent", "parentName"),),
    "localqueues": (),
    "resourceflavors": (),
    "workloads": (
        _moved(
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
        _dropped("spec.priorityClassSource", f"{_SOURCE} in {['', *sorted(PRIORITY_SOURCES)]}"),
    ),
    "workloadpriorityclasses": (),
    "admissionchecks": (_dropped("spec.retryDelayMinutes"),),
    "provisioningrequestconfigs": (),
    "multikueueclusters": (
        _moved("spec.kubeConfig", "clusterSource", "{'kubeConfig': object.spec.kubeConfig}"),
        _moved(
            "spec.clusterProfileRef",
            "clusterSource",
            "{'clusterProfileRef': object.spec.clusterProfileRef}",
        ),
    ),
    "multikueueconfigs": (),
    "topologies": (),
}
STATUSES: dict[str, tuple[Spelling, ...]] = {
    "clusterqueues": (_dropped("status.pendingWorkloadsStatus"),),
    "localqueues": (_moved("status.flavorUsage", "flavorsUsage"), _dropped("status.flavors")),
    "workloads": (
        _moved(
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
