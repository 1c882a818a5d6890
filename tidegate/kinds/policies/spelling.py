"""Writes in v1beta1's spelling become v1beta2's, and the author of a change is noted.

Both stand in one policy a kind, because a policy's mutations run in order and policies do not: a
manifest that is applied again unchanged must not count as a change. Source: api.md 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidegate.kinds.kueue_api.v1beta1 import PRIORITY_SOURCES
from tidegate.kinds.names import AUTHOR
from tidegate.kinds.policies.forms import (
    Manifest,
    Scope,
    Target,
    annotation,
    kueue,
    mutating,
    noted,
    patched,
)


class Spelling(NamedTuple):
    """One older spelling: when it is there, and the list of patches that takes it away."""

    there: str
    patches: str


_OLD_AUTHOR = annotation(AUTHOR, "oldObject")
_USER = "request.userInfo.username"
_KEPT = f"{_OLD_AUTHOR} != '' ? {_OLD_AUTHOR} : {_USER}"


def quota_objects() -> list[Manifest]:
    """Return the policies of Kueue's own kinds."""
    told: list[Manifest] = []
    for plural, spellings in _SPECS.items():
        changed = "object.value != oldObject.value" if plural in _FLAT else _SPEC_CHANGED
        mutations = [_respelled(spellings), patched(_authored(changed))]
        condition = _any([_to_be_authored(changed), *(one.there for one in spellings)])
        target = kueue(plural)
        if plural in _MADE_OFTEN:
            told += _made(plural, spellings)
            target = kueue(plural, operations=("UPDATE",))
        scope = _scope(target, condition)
        told += mutating(f"write-{plural}", scope, mutations if spellings else mutations[1:])
    for plural, spellings in _STATUSES.items():
        scope = _scope(kueue(f"{plural}/status"), _any([one.there for one in spellings]))
        told += mutating(f"write-{plural}-status", scope, [_respelled(spellings)])
    return told


def job_authors(targets: Sequence[Target]) -> list[Manifest]:
    """Return the policy that notes who made a job, and keeps that from being changed."""
    right = f"(request.operation == 'CREATE' ? {_USER} : {_OLD_AUTHOR})"
    scope = Scope(targets=targets, conditions={"not-noted": f"{annotation(AUTHOR)} != {right}"})
    return mutating("author-jobs", scope, [patched(_authored("false"))])


def _made(plural: str, spellings: Sequence[Spelling]) -> list[Manifest]:
    """Return a policy for creation alone, in one mutation: a fifth of a create is saved by that."""
    condition = _any([f"{annotation(AUTHOR)} != {_USER}", *(one.there for one in spellings)])
    patches = [*(one.patches for one in spellings), f"({noted('annotations', AUTHOR, _USER)})"]
    scope = _scope(kueue(plural, operations=("CREATE",)), condition)
    return mutating(f"make-{plural}", scope, [patched(" + ".join(patches))])


def _scope(target: Target, condition: str) -> Scope:
    """Applying a mutation costs the API server a tenth of a write, even where nothing changes."""
    return Scope(targets=[target], conditions={"has-something-to-change": condition})


def _any(conditions: Sequence[str]) -> str:
    return " || ".join(f"({one})" for one in conditions)


def _respelled(spellings: Sequence[Spelling]) -> Manifest:
    return patched(" + ".join(one.patches for one in spellings))


def _to_be_authored(changed: str) -> str:
    same = f"{annotation(AUTHOR)} == {_OLD_AUTHOR}"
    return f"request.operation == 'CREATE' || ({changed}) || !({same})"


def _authored(changed: str) -> str:
    stamped, kept = noted("annotations", AUTHOR, _USER), noted("annotations", AUTHOR, _KEPT)
    return (
        f"request.operation == 'CREATE' || ({changed}) ? {stamped}"
        f" : {annotation(AUTHOR)} == {_OLD_AUTHOR} ? [] : {kept}"
    )


def _moved(path: str, new: str, value: str = "", when: str = "true") -> Spelling:
    """Return the patches that take a field out of ``path`` and put its value under ``new``.

    Where both are there the newer spelling holds, unless the older came with this very update.
    """
    parents = path.rpartition(".")[0]
    there = f"{_found(f'{parents}.{new}')}.hasValue()"
    fresh = f"request.operation == 'UPDATE' && {_found(path, 'oldObject')} != {_found(path)}"
    added = _patch("add", f"{parents}.{new}", value or f"object.{path}")
    moved = f"{_patch('remove', path)} + (({when}) && (!{there} || ({fresh})) ? {added} : [])"
    return _where(f"{_found(path)}.hasValue()", moved)


def _dropped(path: str, when: str = "true") -> Spelling:
    return _where(f"{_found(path)}.hasValue() && {when}", _patch("remove", path))


def _reworded(path: str, old: str, new: str) -> Spelling:
    return _where(f"{_found(path)}.orValue('') == '{old}'", _patch("replace", path, repr(new)))


def _where(there: str, patches: str) -> Spelling:
    return Spelling(there, f"({there} ? {patches} : [])")


def _found(path: str, of: str = "object") -> str:
    return f"{of}.?{path.replace('.', '.?')}"


def _patch(op: str, path: str, value: str = "") -> str:
    told = f", value: {value}" if value else ""
    return f"[JSONPatch{{op: '{op}', path: '/{path.replace('.', '/')}'{told}}}]"


_MADE_OFTEN = ("workloads",)
_FLAT = ("workloadpriorityclasses",)
_SPEC_CHANGED = "object.?spec != oldObject.?spec"
_SOURCE = "object.spec.?priorityClassSource.orValue('')"
_WORKLOAD_SOURCE = "kueue.x-k8s.io/workloadpriorityclass"
_PLACES = "object.?status.?admission.?podSetAssignments.orValue([])"
_DOMAINS = "a.topologyAssignment.domains"
_SPECS: dict[str, tuple[Spelling, ...]] = {
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
_STATUSES: dict[str, tuple[Spelling, ...]] = {
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
