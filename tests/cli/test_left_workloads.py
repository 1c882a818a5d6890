"""Which Workloads ``tidegate doctor`` names because their job kind is not enabled."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.cli.stage import staged
from tidegate.cli.doctor.leftover_workloads import examine_unqueued, leftover_workloads
from tidegate.cli.objects.api_client import ApiClient, open_api
from tidegate.kinds.names import QUEUE_NAME
from tidegate.service.config.configuration import read_configuration

__all__ = ["staged"]


def owned(kind: str, version: str, *, finished: str = "False") -> dict[str, Any]:
    owner = {"apiVersion": version, "kind": kind, "name": "x", "uid": "x", "controller": True}
    condition = {"type": "Finished", "status": finished}
    meta = {"namespace": "a", "name": kind.lower(), "ownerReferences": [owner]}
    return {"metadata": meta, "status": {"conditions": [condition]}}


def test_only_unfinished_workloads_of_kinds_that_are_not_enabled_are_named() -> None:
    documents = [
        owned("Job", "batch/v1"),
        owned("RayJob", "ray.io/v1"),
        owned("StatefulSet", "apps/v1", finished="True"),
        owned("Crunch", "example.com/v1"),
    ]
    assert leftover_workloads(documents, read_configuration("")) == ["a/rayjob of RayJob x"]


def test_queued_objects_of_kinds_that_are_not_enabled_are_named(staged: str) -> None:
    configuration = read_configuration("")
    pods = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}
    meta = {"name": "queued", "namespace": "a", "labels": {QUEUE_NAME: "main"}}
    with open_api(staged) as api:
        job = {"metadata": meta, "spec": {"template": {"spec": pods}}}
        api.request("POST", "/apis/batch/v1/namespaces/a/jobs", job)
        assert list(examine_unqueued(api, configuration)) == []
        (finding,) = examine_unqueued(api, replace(configuration, frameworks=("pod",)))
    assert finding.code == "QueuedNotManaged"
    assert finding.text.endswith(": Job a/queued")


class Listing:
    """An API server with one queued object under the path of each kind in ``kinds``."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = kinds

    def list_all(self, path: str, selector: str) -> list[dict[str, Any]]:
        assert selector == QUEUE_NAME
        named = path.rpartition("/")[2] in self._kinds
        return [{"metadata": {"namespace": "a", "name": "queued"}}] if named else []


@pytest.mark.parametrize(
    ("resource", "kind"),
    [
        ("deployments", "Deployment"),
        ("statefulsets", "StatefulSet"),
        ("leaderworkersets", "LeaderWorkerSet"),
        ("pods", "Pod"),
    ],
)
def test_kinds_that_no_field_suspends_are_named_too(resource: str, kind: str) -> None:
    (finding,) = examine_unqueued(cast(ApiClient, Listing(resource)), read_configuration(""))
    assert finding.code == "QueuedNotManaged"
    assert finding.text.endswith(f": {kind} a/queued")


def test_a_kind_that_is_enabled_is_not_asked_about() -> None:
    configuration = replace(read_configuration(""), frameworks=("deployment", "statefulset"))
    api = cast(ApiClient, Listing("deployments", "statefulsets"))
    assert list(examine_unqueued(api, configuration)) == []
