"""What the schema cannot say about a Workload: its templates, and what it holds quota for."""

from __future__ import annotations

from tidegate.kinds.names import ADMISSION_GATED_BY, ELASTIC_JOB, SLICE_REPLACES
from tidegate.kinds.policies.forms import (
    Check,
    Manifest,
    Scope,
    annotation,
    are_paths,
    is_label_key,
    is_label_value,
    kueue,
    only_removed,
    validating_policy,
)
from tidegate.kinds.policies.marks import MAY_WRITE

_VARIABLES = {
    "podSets": "object.spec.?podSets.orValue([])",
    "containers": (
        "variables.podSets.map(p, p.template.?spec.?containers.orValue([])"
        " + p.template.?spec.?initContainers.orValue([]))"
    ),
    "reserved": (
        "request.operation == 'UPDATE' && oldObject.?status.?conditions.orValue([])"
        ".exists(c, c.type == 'QuotaReserved' && c.status == 'True')"
    ),
    "elastic": f"{annotation(ELASTIC_JOB)} == 'true'",
}


def workload_guards() -> list[Manifest]:
    """Return the policies that refuse what a Workload cannot mean."""
    return [
        *validating_policy("check-workloads", _scope("workloads"), _SPEC, _VARIABLES),
        *validating_policy(
            "check-workloads-status", _scope("workloads/status"), _STATUS, _VARIABLES
        ),
    ]


def _scope(resource: str) -> Scope:
    return Scope(targets=[kueue(resource)])


def _containers(field: str, condition: str) -> str:
    resource = f"c.?resources.?{field}.orValue({{}})"
    return f"variables.containers.all(cs, cs.all(c, {condition.format(found=resource)}))"


def _whole_pods(field: str, condition: str) -> str:
    amounts = f"p.template.?spec.?{field}.orValue({{}})"
    return f"variables.podSets.all(p, {condition.format(found=amounts)})"


def _template(field: str, condition: str) -> str:
    return f"variables.podSets.all(p, {_MARKS.format(field)}.all(k, {condition}))"


_MARKS = "p.template.?metadata.?{}.orValue({{}})"


def _updates(condition: str) -> str:
    return f"object.?status.?admissionChecks.orValue([]).all(c, {_UPDATES}.all(u, {condition}))"


def _update_marks(field: str) -> Check:
    """Return the check that what a check adds of a field could stand in a pod."""
    marks, value = f"u.?{field}.orValue({{}})", is_label_value(f"u.{field}[k]")
    return Check(
        _updates(f"{marks}.all(k, {is_label_key('k')} && {value})"),
        f"{_UPDATES_PATH}.{field} has the form of labels",
    )


_UPDATES = "c.?podSetUpdates.orValue([])"
_UPDATES_PATH = "status.admissionChecks[].podSetUpdates[]"
_CHECK_STATES = (
    Check(
        _updates("variables.podSets.exists(p, p.name == u.name)"),
        f"{_UPDATES_PATH}.name is one of spec.podSets",
    ),
    _update_marks("labels"),
    _update_marks("nodeSelector"),
    Check(
        _updates(f"u.?annotations.orValue({{}}).all(k, {is_label_key('k.lowerAscii()')})"),
        f"{_UPDATES_PATH}.annotations: keys have the form of a label's",
    ),
    Check(
        _updates(
            "u.?tolerations.orValue([]).all(t,"
            f" t.?key.orValue('') == '' || ({is_label_key('t.key')}))"
        ),
        f"{_UPDATES_PATH}.tolerations[].key is a label key such as team or example.com/team",
    ),
)
_NO_PODS = "!('pods' in {found})"
_POSITIVE = "{found}.all(k, quantity(string({found}[k])).compareTo(quantity('0')) >= 0)"
_WISH = "p.?topologyRequest.?"
_SPEC = (
    *(
        Check(
            _containers(field, _NO_PODS),
            f"spec.podSets[].template.spec.containers[].resources.{field} must not name pods:"
            " the number of pods is counted by itself",
        )
        for field in ("requests", "limits")
    ),
    *(
        Check(
            _containers(field, _POSITIVE),
            f"spec.podSets[].template.spec.containers[].resources.{field} is 0 or more",
        )
        for field in ("requests", "limits")
    ),
    *(
        Check(
            _whole_pods(f"resources.?{field}", _NO_PODS),
            f"spec.podSets[].template.spec.resources.{field} must not name pods:"
            " the number of pods is counted by itself",
        )
        for field in ("requests", "limits")
    ),
    *(
        Check(
            _whole_pods(field, _POSITIVE),
            f"spec.podSets[].template.spec.{field.replace('?', '')} is 0 or more",
        )
        for field in ("resources.?requests", "resources.?limits", "overhead")
    ),
    Check(
        _template(
            "labels", f"{is_label_key('k')} && {is_label_value(_MARKS.format('labels') + '[k]')}"
        ),
        "spec.podSets[].template.metadata.labels have the form of labels",
    ),
    Check(
        _template("annotations", is_label_key("k.lowerAscii()")),
        "spec.podSets[].template.metadata.annotations: keys have the form of a label's",
    ),
    Check(
        "variables.podSets.all(p,"
        f" [{_WISH}required.hasValue(), {_WISH}preferred.hasValue(),"
        f" {_WISH}unconstrained.orValue(false) == true].filter(w, w).size() <= 1)",
        "spec.podSets[].topologyRequest has one of required, preferred, unconstrained",
    ),
    Check(
        f"variables.podSets.all(p, {_WISH}podSetSliceRequiredTopology.hasValue()"
        f" == {_WISH}podSetSliceSize.hasValue())",
        "spec.podSets[].topologyRequest: podSetSliceRequiredTopology and podSetSliceSize"
        " go together",
    ),
    Check(
        "!variables.elastic || variables.podSets.all(p, !has(p.minCount))",
        "spec.podSets[].minCount has no place in an elastic job",
    ),
    Check(
        "!variables.reserved || object.spec.podSets == oldObject.spec.podSets"
        " || (variables.elastic && size(object.spec.podSets) == size(oldObject.spec.podSets)"
        " && object.spec.podSets.all(p, oldObject.spec.podSets.exists(o, o.name == p.name"
        " && o.template == p.template && o.?topologyRequest == p.?topologyRequest"
        " && p.count <= o.count)))",
        "spec.podSets is immutable while quota is reserved",
    ),
    only_removed(ADMISSION_GATED_BY, "request.operation == 'CREATE'"),
    are_paths(ADMISSION_GATED_BY),
    *_CHECK_STATES[:1],
)
_CLUSTER = "?status.?clusterName"
_DONE = "status.?reclaimablePods.orValue([])"
_STATUS = (
    Check(
        f"oldObject.{_DONE}.all(o,"
        f" object.{_DONE}.exists(r, r.name == o.name && r.count >= o.count))"
        " || !variables.reserved || variables.elastic"
        " || !object.?status.?conditions.orValue([])"
        ".exists(c, c.type == 'QuotaReserved' && c.status == 'True')",
        "status.reclaimablePods may not shrink while quota is reserved",
    ),
    *_CHECK_STATES,
    Check(
        f"!object.{_CLUSTER}.hasValue() || oldObject.{_CLUSTER}.hasValue()"
        f" || object.{_CLUSTER}.value()"
        " in oldObject.?status.?nominatedClusterNames.orValue([])"
        f" || {annotation(SLICE_REPLACES)} != '' || {MAY_WRITE}",
        "status.clusterName is one of status.nominatedClusterNames",
    ),
)
