"""Components of an AppWrapper are charged for what their kind has, whatever they declare."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.parts.foreign import pods_template
from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import UntypedObject
from tidegate.jobs.kind import Object
from tidegate.jobs.wrappers.app_wrapper import KIND

JOB, DECLARED = "batch/v1 Job", {"path": "template.spec.template"}


def wrapper(template: Object, *declared: Object) -> Object:
    component = {"template": template, "podSets": list(declared)}
    meta = {"name": "wrapped", "namespace": "team", "uid": "u", "resourceVersion": "7"}
    times = {"creationTimestamp": "2026-03-01T08:00:00Z"}
    spec = {"suspend": True, "components": [component]}
    return {"metadata": {**meta, **times}, "spec": spec}


def component(kind: str, **spec: Any) -> Object:  # noqa: ANN401 - any field
    api_version, _, name = kind.partition(" ")
    template = {"template": pods_template()}
    return {"apiVersion": api_version, "kind": name, "spec": {**template, **spec}}


def counts(obj: Object) -> list[int]:
    return [podset.count for podset in KIND.observe(msgspec.convert(obj, UntypedObject)).podsets]


@pytest.mark.parametrize(
    "template",
    [
        component("batch/v1 Job", parallelism=90),
        component("apps/v1 Deployment", replicas=90),
        component("apps/v1 StatefulSet", replicas=90),
    ],
    ids=lambda template: template["kind"],
)
def test_a_known_kind_is_charged_for_the_pods_that_it_has(template: Object) -> None:
    assert counts(wrapper(template, {**DECLARED, "replicas": 1})) == [90]
    assert counts(wrapper(template)) == [90]


def test_of_a_known_kind_no_template_is_left_out_or_taken_for_another() -> None:
    template = component("batch/v1 Job")
    template["metadata"] = {"annotations": {"small": {"spec": {"containers": [{"name": "c"}]}}}}
    for path in ("template.metadata.annotations.small", "template.spec"):
        with pytest.raises(UndecodableError, match="not the pod templates of this Job"):
            counts(wrapper(template, {"path": path}))


def test_a_kind_that_is_not_known_has_the_pods_that_it_declares() -> None:
    template = component("example.com/v1 Crunch", replicas=90)
    assert counts(wrapper(template, {**DECLARED, "replicas": 3})) == [3]
