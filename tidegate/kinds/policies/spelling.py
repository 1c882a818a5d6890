"""Writes in v1beta1's spelling become v1beta2's, and the author of a change is noted.

Both stand in one policy a kind, because a policy's mutations run in order and policies do not: a
manifest that is applied again unchanged must not count as a change. Source: api.md 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidegate.kinds.kueue_api.v1beta1 import PRIORITY_SOURCES
from tidegate.kinds.names import AUTHOR, BUDGET, MIN_RUNTIME, MOVE_TO, PARTITION, PRICE, STATEMENT
from tidegate.kinds.policies.forms import (
    Manifest,
    Scope,
    Target,
    annotation,
    apply_patch,
    kueue,
    mutating_policy,
    set_text_patch,
)

_QUOTAS = ("nominalQuota", "borrowingLimit", "lendingLimit")
_SOURCE = "object.spec.?priorityClassSource.orValue('')"
_WORKLOAD_SOURCE = "kueue.x-k8s.io/workloadpriorityclass"
_PLACES = "object.?status.?admission.?podSetAssignments.orValue([])"
_DOMAINS = "a.topologyAssignment.domains"
_SPEC_CHANGED = "object.?spec != oldObject.?spec"
_MADE_OFTEN = ("workloads",)
_FLAT = ("workloadpriorityclasses",)
_MEANT = {
    "clusterqueues": (BUDGET, MIN_RUNTIME, MOVE_TO, PARTITION, STATEMENT),
    "cohorts": (BUDGET, MOVE_TO, PARTITION),
    "resourceflavors": (PRICE,),
}
"""Annotations that mean as much as a field of the spec: a change sets the author."""
_OLD_AUTHOR = annotation(AUTHOR, "oldObject")
_USER = "request.userInfo.username"
_KEPT = f"{_OLD_AUTHOR} != '' ? {_OLD_AUTHOR} : {_USER}"


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


def quota_objects() -> list[Manifest]:
    """Return the policies of Kueue's own kinds."""
    manifests: list[Manifest] = []
    for plural, spellings in SPECS.items():
        changed = _is_meaning_changed(plural)
        mutations = [_respell_mutation(spellings), apply_patch(_author_mutation(changed))]
        condition = _any_of([_needs_author(changed), *(spelling.there for spelling in spellings)])
        target = kueue(plural)
        if plural in _MADE_OFTEN:
            manifests += _creation_policy(plural, spellings)
            target = kueue(plural, operations=("UPDATE",))
        scope = _scope(target, condition)
        manifests += mutating_policy(
            f"write-{plural}", scope, mutations if spellings else mutations[1:]
        )
    for plural, spellings in STATUSES.items():
        scope = _scope(
            kueue(f"{plural}/status"), _any_of([spelling.there for spelling in spellings])
        )
        manifests += mutating_policy(
            f"write-{plural}-status", scope, [_respell_mutation(spellings)]
        )
    return manifests


def job_authors(targets: Sequence[Target]) -> list[Manifest]:
    """Return the policy that records a job's creator, and forbids a change of it."""
    right = f"(request.operation == 'CREATE' ? {_USER} : {_OLD_AUTHOR})"
    scope = Scope(targets=targets, conditions={"not-noted": f"{annotation(AUTHOR)} != {right}"})
    return mutating_policy("author-jobs", scope, [apply_patch(_author_mutation("false"))])


def _is_meaning_changed(plural: str) -> str:
    """Return the condition that an update changes what an object means."""
    spec = "object.value != oldObject.value" if plural in _FLAT else _SPEC_CHANGED
    annotations = (
        f"{annotation(key)} != {annotation(key, 'oldObject')}" for key in _MEANT.get(plural, ())
    )
    return " || ".join((spec, *annotations))


def _creation_policy(plural: str, spellings: Sequence[Spelling]) -> list[Manifest]:
    """Return a policy for creation alone, in one mutation: a fifth of a create is saved by that."""
    condition = _any_of(
        [f"{annotation(AUTHOR)} != {_USER}", *(spelling.there for spelling in spellings)]
    )
    patches = [
        *(spelling.patches for spelling in spellings),
        f"({set_text_patch('annotations', AUTHOR, _USER)})",
    ]
    scope = _scope(kueue(plural, operations=("CREATE",)), condition)
    return mutating_policy(f"make-{plural}", scope, [apply_patch(" + ".join(patches))])


def _scope(target: Target, condition: str) -> Scope:
    """Applying a mutation costs the API server a tenth of a write, even where nothing changes."""
    return Scope(targets=[target], conditions={"has-something-to-change": condition})


def _any_of(conditions: Sequence[str]) -> str:
    return " || ".join(f"({condition})" for condition in conditions)


def _respell_mutation(spellings: Sequence[Spelling]) -> Manifest:
    return apply_patch(" + ".join(spelling.patches for spelling in spellings))


def _needs_author(changed: str) -> str:
    same = f"{annotation(AUTHOR)} == {_OLD_AUTHOR}"
    return f"request.operation == 'CREATE' || ({changed}) || !({same})"


def _author_mutation(changed: str) -> str:
    stamped, keep_author = (
        set_text_patch("annotations", AUTHOR, _USER),
        set_text_patch("annotations", AUTHOR, _KEPT),
    )
    return (
        f"request.operation == 'CREATE' || ({changed}) ? {stamped}"
        f" : {annotation(AUTHOR)} == {_OLD_AUTHOR} ? [] : {keep_author}"
    )
