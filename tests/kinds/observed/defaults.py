"""What the admission policies make of an object that is new, from the tables they are made of."""

from __future__ import annotations

from tests.kinds.observed.cases import Case, Object
from tidegate.jobs.templates.paths import parse_path, value_at, with_value
from tidegate.kinds.names import (
    ADMISSION_GATE,
    MANAGED,
    POD_INDEX_OFFSET,
    PODSET_GROUP,
    QUEUE_NAME,
    TOPOLOGY_GATE,
)
from tidegate.kinds.policies.frameworks import FRAMEWORKS
from tidegate.kinds.policies.templates.numbering import NUMBERED, Numbered
from tidegate.kinds.policies.templates.serving_kinds import SERVING, ServedTemplate


def defaulted(case: Case) -> Object:
    """Return the object as the API server keeps it."""
    group, _, _ = str(case.object["apiVersion"]).rpartition("/")
    framework = next(
        (
            framework
            for framework in FRAMEWORKS
            if (framework.group, framework.kind) == (group, case.object["kind"])
        ),
        None,
    )
    if not (_is_queued(case) or case.manage_jobs_without_queue_name):
        return case.object
    if case.object["kind"] == "Pod":
        labelled: Object = with_value(case.object, ("metadata", "labels", MANAGED), "true")
        return gated(labelled)
    if framework is None:
        return _marked(case)
    suspended: Object = with_value(case.object, parse_path(framework.suspend), value=True)
    return _numbered_behind(suspended, NUMBERED.get(framework.name))


def gated(pod: Object, when: str = "") -> Object:
    """Return a pod with the gates that it has when it is made; only one that has a certain gate."""
    held = pod["spec"].get("schedulingGates", [])
    known = [gate["name"] for gate in held]
    if when and when not in known:
        return pod
    new = [{"name": text} for text in (ADMISSION_GATE, TOPOLOGY_GATE) if text not in known]
    fields: Object = with_value(pod, ("spec", "schedulingGates"), [*held, *new])
    return fields


def _marked(case: Case) -> Object:
    """Return an object with its templates as its policy marks them."""
    kind = next((serving for serving in SERVING if serving.kind == case.object["kind"]), None)
    obj, labels = case.object, case.object["metadata"].get("labels", {})
    owners = obj["metadata"].get("ownerReferences", ())
    for template in () if kind is None or owners else kind.templates:
        path = parse_path(template.path)
        if value_at(obj, path) is None:
            continue
        copied = {key: labels[key] for key in template.copied if labels.get(key)}
        notes = template.annotations | _numbered(obj, template)
        for field, mapping in (("labels", template.labels | copied), ("annotations", notes)):
            for key, value in mapping.items():
                obj = with_value(obj, (*path, "metadata", field, key), value)
    return obj


def _numbered(obj: Object, template: ServedTemplate) -> dict[str, str]:
    first = template.numbered_from_one
    return _offset(obj, template.path, first) if first else {}


def _numbered_behind(obj: Object, numbered: Numbered | None) -> Object:
    if numbered is None or not value_at(obj, parse_path(numbered.only_if)):
        return obj
    if value_at(obj, path := parse_path(numbered.path)) is None:
        return obj
    for key, value in _offset(obj, numbered.path, numbered.first).items():
        obj = with_value(obj, (*path, "metadata", "annotations", key), value)
    return obj


def _offset(obj: Object, path: str, first: str) -> dict[str, str]:
    """Return the annotation of a template whose pods come behind those of another."""
    grouped = (
        value_at(obj, (*parse_path(path), "metadata", "annotations", PODSET_GROUP)) is not None
    )
    there = value_at(obj, parse_path(first)) is not None
    return {POD_INDEX_OFFSET: "1"} if there and not grouped else {}


def _is_queued(case: Case) -> bool:
    return QUEUE_NAME in case.object["metadata"].get("labels", {})
