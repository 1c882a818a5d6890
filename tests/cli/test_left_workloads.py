"""Which Workloads ``tidegate doctor`` names because their job kind is not enabled."""

from __future__ import annotations

from typing import Any

from tidegate.cli.left_workloads import left_behind
from tidegate.service.configuration import read_configuration


def owned(kind: str, version: str, *, finished: str = "False") -> dict[str, Any]:
    owner = {"apiVersion": version, "kind": kind, "name": "x", "uid": "x", "controller": True}
    condition = {"type": "Finished", "status": finished}
    meta = {"namespace": "a", "name": kind.lower(), "ownerReferences": [owner]}
    return {"metadata": meta, "status": {"conditions": [condition]}}


def test_only_unfinished_workloads_of_kinds_that_are_not_enabled_are_named() -> None:
    found = [
        owned("Job", "batch/v1"),
        owned("RayJob", "ray.io/v1"),
        owned("StatefulSet", "apps/v1", finished="True"),
        owned("Crunch", "example.com/v1"),
    ]
    assert left_behind(found, read_configuration("")) == ["a/rayjob of RayJob x"]
