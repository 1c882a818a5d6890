"""Elastic jobs on a worker: how large job and copy are, and which slice the job is one with."""

from __future__ import annotations

from typing import Any

import pytest

from dispatcher.adapters.slices import (
    joining_patch,
    scale_down_patch,
    with_counts,
    with_size,
    without_start_gates,
)
from tidegate.errors import UndecodableError
from tidegate.jobs.ray.ray_cluster import podset_locations
from tidegate.kinds.names import ELASTIC_JOB, ELASTIC_POD, PREBUILT_WORKLOAD
from tidegate.model.multikueue import CONTROLLER

Object = dict[str, Any]
ELASTIC = {ELASTIC_JOB: "true"}
NAMED = {PREBUILT_WORKLOAD: "one"}


def obj(annotations: Object = ELASTIC, **spec: Any) -> Object:  # noqa: ANN401 - fields of a spec
    meta = {"name": "train", "namespace": "default", "resourceVersion": "7"}
    return {"metadata": {**meta, "annotations": annotations}, "spec": spec}


def workload(count: int, **spec: Any) -> Object:  # noqa: ANN401 - fields of a spec
    return obj(podSets=[{"name": "main", "count": count, "template": {}}], queueName="q", **spec)


@pytest.mark.parametrize(
    ("local", "remote", "count"),
    [
        (workload(2), workload(4), 2),
        (workload(2, priority=5), workload(4), 2),
        (workload(4), workload(4), None),
        (workload(4), workload(2), None),
        (workload(2), workload(4) | {"spec": workload(4)["spec"] | {"queueName": "x"}}, None),
        (workload(2) | {"metadata": obj({})["metadata"]}, workload(4), None),
    ],
    ids=["smaller", "and a priority", "equal", "larger", "of another queue", "not elastic"],
)
def test_a_copy_becomes_smaller_in_place_and_nothing_else_of_it_changes(
    local: Object, remote: Object, count: int | None
) -> None:
    patch = scale_down_patch(local, remote)
    value = None if patch is None else patch["spec"]["podSets"][0]["count"]
    assert value == count


def test_a_slice_whose_place_is_taken_becomes_no_larger() -> None:
    for most, expected in ((True, 2), (False, 3)):
        asked = with_counts(workload(2), {"main": 3}, at_most=most)
        assert asked["spec"]["podSets"][0]["count"] == expected


@pytest.mark.parametrize(
    ("local", "remote", "counts", "spec"),
    [
        ({"parallelism": 4}, {"parallelism": 2}, {"main": 4}, {"parallelism": 4}),
        ({"parallelism": 6}, {"parallelism": 2}, {"main": 4}, {"parallelism": 4}),
        ({"parallelism": 6, "completions": 4}, {"parallelism": 2}, {"main": 4}, {"parallelism": 6}),
        (
            {"parallelism": 3, "completions": 3, "completionMode": "Indexed"},
            {"parallelism": 2, "completions": 2, "completionMode": "Indexed"},
            {"main": 3},
            {"parallelism": 3, "completions": 3},
        ),
    ],
    ids=["as it asks", "as granted", "with fewer completions", "indexed"],
)
def test_a_job_is_one_with_a_slice_and_as_large_in_one_patch(
    local: Object, remote: Object, counts: dict[str, int], spec: Object
) -> None:
    there = obj(ELASTIC | NAMED, **remote)
    patch = joining_patch("batch/job", obj(**local), there, "two", counts)
    notes = {PREBUILT_WORKLOAD: "two"}
    assert patch == {"metadata": {"resourceVersion": "7", "annotations": notes}, "spec": spec}
    after = with_size(
        "batch/job", obj(ELASTIC | {PREBUILT_WORKLOAD: "two"}, **remote), obj(**local), counts
    )
    assert joining_patch("batch/job", obj(**local), after, "two", counts) is None
    assert joining_patch("jobset.x-k8s.io/jobset", obj(**local), there, "two", counts) is None
    assert joining_patch("batch/job", obj({}, **local), there, "two", counts) is None


def cluster(replicas: int, hosts: int = 1, **spec: Any) -> Object:  # noqa: ANN401 - fields of a spec
    template = {"metadata": {"labels": {ELASTIC_POD: "u"}}, "spec": {"containers": [{"name": "c"}]}}
    template["spec"]["schedulingGates"] = [{"name": ELASTIC_JOB}]  # type: ignore[index]  # a JSON object
    group = {"groupName": "Small", "replicas": replicas, "numOfHosts": hosts, "template": template}
    head = {"template": template}
    return obj(ELASTIC | NAMED, headGroupSpec=head, workerGroupSpecs=[group], **spec)


@pytest.mark.parametrize(
    ("local", "granted", "replicas"),
    [(cluster(3), 3, 3), (cluster(5), 2, 2), (cluster(2, 2), 4, 2)],
    ids=["as it asks", "as granted", "hosts"],
)
def test_groups_of_workers_are_as_large_as_granted(
    local: Object, granted: int, replicas: int
) -> None:
    counts = {"head": 1, "small": granted}
    patch = joining_patch("ray.io/raycluster", local, cluster(1), "one", counts)
    assert patch is not None
    assert patch["spec"]["workerGroupSpecs"][0]["replicas"] == replicas


def test_a_group_that_names_no_number_of_hosts_has_one_each() -> None:
    local = cluster(3)
    del local["spec"]["workerGroupSpecs"][0]["numOfHosts"]
    counts = {"head": 1, "small": 3}
    patch = joining_patch("ray.io/raycluster", local, cluster(3, 2), "one", counts)
    assert patch is not None
    assert patch["spec"]["workerGroupSpecs"][0]["numOfHosts"] == 1
    assert joining_patch("ray.io/raycluster", local, cluster(3), "one", counts) is None


@pytest.mark.parametrize(
    ("kind", "copied"),
    [("ray.io/raycluster", cluster(1)), ("batch/job", obj(**cluster(1)["spec"]["headGroupSpec"]))],
)
def test_pods_of_a_copy_wait_for_nothing_that_was_put_in_here(kind: str, copied: Object) -> None:
    assert ELASTIC_JOB in str(copied["spec"])
    text = str(without_start_gates(kind, copied)["spec"])
    assert ELASTIC_JOB not in text
    assert ELASTIC_POD not in text


def test_a_cluster_that_is_sent_does_not_grow_by_itself() -> None:
    assert podset_locations(cluster(1, enableInTreeAutoscaling=True))
    with pytest.raises(UndecodableError, match="MultiKueue"):
        podset_locations(cluster(1, enableInTreeAutoscaling=True, managedBy=CONTROLLER))
