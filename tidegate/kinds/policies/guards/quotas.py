"""Validation of quota objects beyond the schemas, with a message that names the field."""

from __future__ import annotations

from tidegate.kinds.kueue_api.prices import PRICE_PATTERN, PRICE_TEXT_MAX
from tidegate.kinds.kueue_api.queues.own_annotations import BUDGET_PATTERN, BUDGET_TEXT_MAX
from tidegate.kinds.names import BUDGET, MIN_RUNTIME, MOVE_TO, PARTITION, PRICE, STATEMENT
from tidegate.kinds.policies.forms import (
    Check,
    Manifest,
    Scope,
    annotation,
    is_label_key,
    is_label_value,
    kueue,
    validating_policy,
)
from tidegate.model.ids import PARTITION_MAX, PARTITION_NUMBER

_GROUPS = {"groups": "object.?spec.?resourceGroups.orValue([])"}
_PATH = "spec.resourceGroups[].flavors[].resources[]"
_KEY_SAID = "a label key such as team or example.com/team"
_VALUE_SAID = "a label value: at most 63 letters, digits, -, _ and ."


def quota_guards() -> list[Manifest]:
    """Return the policies that refuse what a ClusterQueue, Cohort or ResourceFlavor cannot mean."""
    return [
        *validating_policy(
            "check-clusterqueues",
            _scope("clusterqueues"),
            [*_GROUP_CHECKS, *_CLUSTER_QUEUE_CHECKS],
            _GROUPS | _SAME_FLAVORS,
        ),
        *validating_policy(
            "check-cohorts",
            _scope("cohorts"),
            [*_GROUP_CHECKS, _BUDGET, *_PARTITION_CHECKS],
            _GROUPS,
        ),
        *validating_policy("check-resourceflavors", _scope("resourceflavors"), _FLAVOR_CHECKS),
    ]


def _scope(plural: str) -> Scope:
    return Scope(targets=[kueue(plural)])


def _quota_check(field: str, condition: str, problem: str) -> Check:
    """Return the check of a field of each quota, refused by index and value."""
    bad = f"has(r.{field}) && !({condition})"
    where = (
        "'spec.resourceGroups[' + string(variables.groups.indexOf(g))"
        " + '].flavors[' + string(g.flavors.indexOf(f))"
        " + '].resources[' + string(f.resources.indexOf(r))"
        f" + '].{field}: ' + string(r.{field}) + ' is not {problem}'"
    )
    message = (
        f"variables.groups.map(g, g.flavors.map(f, f.resources.filter(r, {bad}).map(r, {where}))"
        ".filter(l, size(l) > 0)).filter(l, size(l) > 0)[0][0][0]"
    )
    none = f"!variables.groups.exists(g, g.flavors.exists(f, f.resources.exists(r, {bad})))"
    return Check(none, f"{_PATH}.{field} is {problem}", message)


def _list_check(items: str, path: str, part: str, condition: str, problem: str) -> Check:
    """Return the check of a part of each item ``i`` of a list, refused by index and value.

    ``part`` is as it stands behind the item: ``.key``; empty: the item itself.
    """
    where = f"'{path}[' + string({items}.indexOf(i)) + ']{part}: ' + string(i{part})"
    return Check(
        f"{items}.all(i, {condition})",
        f"{path}[]{part} is {problem}",
        f"{items}.filter(i, !({condition})).map(i, {where} + ' is not {problem}')[0]",
    )


def _is_list(text: str, text_max: int, item: str, pattern: str) -> str:
    """Return the condition that a text is empty or a list with commas of what a pattern matches."""
    items = f"{text}.split(',').all({item}, {item}.matches('{pattern}'))"
    return f"size({text}) <= {text_max} && ({text} == '' || {items})"


def _label_checks(labels: str, path: str) -> tuple[Check, Check]:
    """Return the checks of a map's keys and values, which are those of labels."""
    value, key = is_label_value(f"{labels}[k]"), is_label_key("k")
    return (
        Check(
            f"{labels}.all(k, {key})",
            f"{path}: keys have the form of a label's",
            f"{labels}.filter(k, !({key})).map(k, '{path}: ' + k + ' is not {_KEY_SAID}')[0]",
        ),
        Check(
            f"{labels}.all(k, {value})",
            f"{path}: values have the form of a label's",
            f"{labels}.filter(k, !({value}))"
            f".map(k, '{path}[' + k + ']: ' + {labels}[k] + ' is not {_VALUE_SAID}')[0]",
        ),
    )


def _at_least_zero(field: str) -> Check:
    not_negative = f"quantity(string(r.{field})).compareTo(quantity('0')) >= 0"
    return _quota_check(field, not_negative, "0 or more")


def _key_of(items: str, path: str) -> Check:
    return _list_check(items, path, ".key", is_label_key("i.key"), _KEY_SAID)


_GROUP_CHECKS = (
    _at_least_zero("nominalQuota"),
    _at_least_zero("borrowingLimit"),
    _at_least_zero("lendingLimit"),
    Check(
        "variables.groups.all(g, g.flavors.all(f,"
        " f.resources.map(r, r.name) == g.coveredResources))",
        "spec.resourceGroups[].flavors[].resources names what coveredResources names,"
        " in the same order",
    ),
    Check(
        f"variables.groups.all(g, g.coveredResources.all(r, {is_label_key('r')}))",
        "spec.resourceGroups[].coveredResources are resource names such as cpu or nvidia.com/gpu",
        f"variables.groups.map(g, g.coveredResources.filter(r, !({is_label_key('r')}))"
        ".map(r,"
        " 'spec.resourceGroups[' + string(variables.groups.indexOf(g)) + '].coveredResources['"
        " + string(g.coveredResources.indexOf(r)) + ']: ' + r"
        " + ' is not a resource name such as cpu or nvidia.com/gpu'))"
        ".filter(l, size(l) > 0)[0][0]",
    ),
    Check(
        "variables.groups.all(g, g.coveredResources.all(r,"
        " variables.groups.filter(h, r in h.coveredResources).size() == 1"
        " && g.coveredResources.filter(s, s == r).size() == 1))",
        "spec.resourceGroups[].coveredResources: a resource is in one group, once",
    ),
    Check(
        "variables.groups.all(g, g.flavors.all(f,"
        " variables.groups.filter(h, h.flavors.exists(o, o.name == f.name)).size() == 1))",
        "spec.resourceGroups[].flavors: a flavor is in one group",
    ),
    Check(
        "variables.groups.map(g, size(g.flavors)).sum() <= 256",
        "spec.resourceGroups has at most 256 flavors",
    ),
    Check(
        "variables.groups.map(g, size(g.coveredResources)).sum() <= 256",
        "spec.resourceGroups covers at most 256 resources",
    ),
    Check(
        "variables.groups.all(g, size(g.flavors) * size(g.coveredResources) <= 512)",
        "spec.resourceGroups[] has at most 512 pairs of flavor and resource",
    ),
)
_SELECTOR = "object.?spec.?namespaceSelector.?matchExpressions.orValue([])"
_CHECKS = "object.?spec.?admissionChecksStrategy.?admissionChecks.orValue([])"
_CHECKS_BEFORE = f"oldObject{_CHECKS.removeprefix('object')}"
_SAME_FLAVORS = {
    "sameFlavors": (
        "request.operation == 'UPDATE' && variables.groups.map(g, g.flavors.map(f, f.name))"
        " == oldObject.?spec.?resourceGroups.orValue([]).map(g, g.flavors.map(f, f.name))"
    )
}
"""Whether an update leaves the flavors: then a check may keep the unknown ones that it had."""
_BUDGET = Check(
    _is_list(annotation(BUDGET), BUDGET_TEXT_MAX, "b", BUDGET_PATTERN),
    f"metadata.annotations[{BUDGET}] is a list such as cpu=1000/month hard, memory=64Gi/week",
)
_NUMBER, _BEFORE = (
    f"{of}.metadata.?annotations[?'{PARTITION}'].orValue('0')" for of in ("object", "oldObject")
)
_ASKED = f"object.metadata.?annotations[?'{MOVE_TO}'].orValue('0')"
_ASKED_BEFORE = f"oldObject.metadata.?annotations[?'{MOVE_TO}'].orValue({_BEFORE})"
_PARTITION_CHECKS = (
    *(
        Check(
            f"{number}.matches('{PARTITION_NUMBER}')",
            f"metadata.annotations[{key}] is a number from 0 to {PARTITION_MAX}",
        )
        for key, number in ((PARTITION, _NUMBER), (MOVE_TO, _ASKED))
    ),
    Check(
        f"request.operation == 'CREATE' || {_NUMBER} in [{_BEFORE}, {_ASKED_BEFORE}]",
        f"metadata.annotations[{PARTITION}] does not change but to what [{MOVE_TO}] said before",
    ),
)
_CLUSTER_QUEUE_CHECKS = (
    _BUDGET,
    *_PARTITION_CHECKS,
    _quota_check(
        "lendingLimit",
        "quantity(string(r.lendingLimit)).compareTo(quantity(string(r.nominalQuota))) <= 0",
        "at most nominalQuota",
    ),
    Check(
        "!object.apiVersion.endsWith('/v1beta2')"
        " || !object.?spec.?admissionChecksStrategy.hasValue()"
        " || object.spec.admissionChecksStrategy.?admissionChecks.hasValue()",
        "spec.admissionChecksStrategy.admissionChecks is required",
    ),
    Check(
        f"{_CHECKS}.all(c, c.?onFlavors.orValue([]).all(f,"
        " variables.groups.exists(g, g.flavors.exists(o, o.name == f))) || (variables.sameFlavors"
        f" && {_CHECKS_BEFORE}.exists(o, o.name == c.name"
        " && o.?onFlavors.orValue([]) == c.?onFlavors.orValue([]))))",
        "spec.admissionChecksStrategy.admissionChecks[].onFlavors are flavors of this ClusterQueue",
    ),
    Check(
        f"{_SELECTOR}.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist']"
        " && (e.operator in ['In', 'NotIn']) == (size(e.?values.orValue([])) > 0))",
        "spec.namespaceSelector.matchExpressions[]: operator is In or NotIn with values,"
        " or Exists or DoesNotExist without",
    ),
    Check(
        f"{_SELECTOR}.all(e, e.?values.orValue([]).all(v, {is_label_value('v')}))",
        f"spec.namespaceSelector.matchExpressions[].values: each is {_VALUE_SAID}",
    ),
    _key_of(_SELECTOR, "spec.namespaceSelector.matchExpressions"),
    *_label_checks(
        "object.?spec.?namespaceSelector.?matchLabels.orValue({})",
        "spec.namespaceSelector.matchLabels",
    ),
    Check(
        f"{annotation(MIN_RUNTIME)} == '' || {annotation(MIN_RUNTIME)}"
        ".matches('^0$|^([0-9]+([.][0-9]*)?(h|m|s|ms))+$')",
        f"metadata.annotations[{MIN_RUNTIME}] is a duration such as 90s or 1h30m",
    ),
    Check(
        f"{annotation(STATEMENT)} == '' || {annotation(STATEMENT)}"
        ".matches('^[0-9]{4}-(0[1-9]|1[0-2])=[0-9a-f]{64}$')",
        f"metadata.annotations[{STATEMENT}] is a month and the SHA-256 of its statement",
    ),
)
_TAINTS = "object.?spec.?nodeTaints.orValue([])"
_LABELS = "object.?spec.?nodeLabels.orValue({})"
_FLAVOR_CHECKS = (
    Check(
        _is_list(annotation(PRICE), PRICE_TEXT_MAX, "p", PRICE_PATTERN),
        f"metadata.annotations[{PRICE}] is a list such as cpu=0.04 EUR, memory=0.005 EUR/Gi,"
        " cpu=0.02 EUR class batch from 2026-04-01",
    ),
    Check(
        f"{_TAINTS}.all(t, {_TAINTS}.exists_one(o, o.key == t.key && o.effect == t.effect))",
        "spec.nodeTaints[]: key and effect together are unique",
    ),
    _key_of(_TAINTS, "spec.nodeTaints"),
    _list_check(
        _TAINTS,
        "spec.nodeTaints",
        ".value",
        is_label_value("i.?value.orValue('')"),
        _VALUE_SAID,
    ),
    *_label_checks(_LABELS, "spec.nodeLabels"),
    _list_check(
        "object.?spec.?tolerations.orValue([])",
        "spec.tolerations",
        ".key",
        f"i.?key.orValue('') == '' || ({is_label_key('i.key')})",
        _KEY_SAID,
    ),
)
