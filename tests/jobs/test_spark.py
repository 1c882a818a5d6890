"""A SparkApplication says in its fields what its pods are, and not in properties of Spark."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import UntypedObject
from tidegate.jobs.kind import Object
from tidegate.jobs.wrappers.spark_application import KIND

GIVEN = {"instances": 2, "memory": "1g", "coreRequest": "1"}


def application(conf: Object, **executor: Any) -> Object:  # noqa: ANN401 - any field
    meta = {"name": "pi", "namespace": "team", "uid": "u", "resourceVersion": "7"}
    spec = {"suspend": True, "sparkConf": conf, "driver": GIVEN, "executor": executor}
    return {"metadata": {**meta, "creationTimestamp": "2026-03-01T08:00:00Z"}, "spec": spec}


def executors(obj: Object) -> int:
    driver, executor = KIND.observe(msgspec.convert(obj, UntypedObject)).podsets
    assert driver.count == 1
    return executor.count


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("spark.executor.instances", "90", "instances"),
        ("spark.executor.memory", "90g", "memory"),
        ("spark.kubernetes.executor.request.cores", "90", "coreRequest"),
    ],
)
def test_what_is_charged_does_not_stand_in_a_property_alone(
    name: str, value: str, field: str
) -> None:
    assert executors(application({name: value}, **GIVEN)) == GIVEN["instances"]
    others = {key: given for key, given in GIVEN.items() if key != field}
    with pytest.raises(UndecodableError, match=f"say it in spec.executor.{field}"):
        executors(application({name: value}, **others))


@pytest.mark.parametrize("value", ["true", "True ", True])
def test_executors_do_not_come_and_go_by_a_property(value: object) -> None:
    grows = "spark.dynamicAllocation.enabled"
    with pytest.raises(UndecodableError, match="come and go"):
        executors(application({grows: value}, **GIVEN))
    assert executors(application({grows: "false"}, **GIVEN)) == GIVEN["instances"]
