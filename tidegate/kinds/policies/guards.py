"""What the schemas cannot say about quota objects: refused with a sentence that names the field."""

from __future__ import annotations

from tidegate.kinds.names import MIN_RUNTIME
from tidegate.kinds.policies.forms import Check, Manifest, Scope, annotation, kueue, validating

_GROUPS = {"groups": "object.?spec.?resourceGroups.orValue([])"}
_PATH = "spec.resourceGroups[].flavors[].resources[]"
_LABEL_KEY = (
    "'^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'"
)
_LABEL_VALUE = "'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$'"


def quota_guards() -> list[Manifest]:
    """Return the policies that refuse what a ClusterQueue, Cohort or ResourceFlavor cannot mean."""
    return [
        *validating(
            "check-clusterqueues",
            _scope("clusterqueues"),
            [*_GROUP_CHECKS, *_CLUSTER_QUEUE_CHECKS],
            _GROUPS,
        ),
        *validating("check-cohorts", _scope("cohorts"), _GROUP_CHECKS, _GROUPS),
        *validating("check-resourceflavors", _scope("resourceflavors"), _FLAVOR_CHECKS),
    ]


def _scope(plural: str) -> Scope:
    return Scope(targets=[kueue(plural)])


def _each(condition: str) -> str:
    return f"variables.groups.all(g, g.flavors.all(f, f.resources.all(r, {condition})))"


def _at_least_zero(field: str) -> Check:
    there = f"quantity(string(r.{field})).compareTo(quantity('0')) >= 0"
    return Check(_each(f"!has(r.{field}) || {there}"), f"{_PATH}.{field} is 0 or more")


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
        f"variables.groups.all(g, g.coveredResources.all(r, r.matches({_LABEL_KEY})))",
        "spec.resourceGroups[].coveredResources are resource names such as cpu or nvidia.com/gpu",
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
_CLUSTER_QUEUE_CHECKS = (
    Check(
        _each(
            "!has(r.lendingLimit) || quantity(string(r.lendingLimit))"
            ".compareTo(quantity(string(r.nominalQuota))) <= 0"
        ),
        f"{_PATH}.lendingLimit is at most nominalQuota",
    ),
    Check(
        f"{_CHECKS}.all(c, c.?onFlavors.orValue([]).all(f,"
        " variables.groups.exists(g, g.flavors.exists(o, o.name == f))))",
        "spec.admissionChecksStrategy.admissionChecks[].onFlavors are flavors of this ClusterQueue",
    ),
    Check(
        f"{_SELECTOR}.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist']"
        " && (e.operator in ['In', 'NotIn']) == (size(e.?values.orValue([])) > 0))",
        "spec.namespaceSelector.matchExpressions[]: operator is In or NotIn with values,"
        " or Exists or DoesNotExist without",
    ),
    Check(
        f"{annotation(MIN_RUNTIME)} == '' || {annotation(MIN_RUNTIME)}"
        ".matches('^0$|^([0-9]+([.][0-9]*)?(h|m|s|ms))+$')",
        f"metadata.annotations[{MIN_RUNTIME}] is a duration such as 90s or 1h30m",
    ),
)
_TAINTS = "object.?spec.?nodeTaints.orValue([])"
_LABELS = "object.?spec.?nodeLabels.orValue({})"
_FLAVOR_CHECKS = (
    Check(
        f"{_TAINTS}.all(t, {_TAINTS}.exists_one(o, o.key == t.key && o.effect == t.effect))",
        "spec.nodeTaints[]: key and effect together are unique",
    ),
    Check(
        f"{_TAINTS}.all(t, t.key.matches({_LABEL_KEY})"
        f" && t.?value.orValue('').matches({_LABEL_VALUE}))",
        "spec.nodeTaints[]: key and value have the form of a label's",
    ),
    Check(
        f"{_LABELS}.all(k, k.matches({_LABEL_KEY})"
        f" && size({_LABELS}[k]) <= 63 && {_LABELS}[k].matches({_LABEL_VALUE}))",
        "spec.nodeLabels: keys and values have the form of a label's",
    ),
)
