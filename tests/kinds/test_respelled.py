"""Whatever spelling a manifest has, a client of v1beta2 sees v1beta2's.

Each data file holds an object in v1beta1's spelling, and then in v1beta2's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.kinds.cluster import Cluster, Manifest, documents, files, in_version, label
from tidegate.kinds.decode import decode_object, read
from tidegate.kinds.kueue_api.v1beta1 import to_v1beta2
from tidegate.kinds.kueue_api.v1beta2 import KINDS

KIND = {kind.name: kind for kind in KINDS}
PATHS = pytest.mark.parametrize("path", files("respelled"), ids=label)


def named(path: Path, manifest: Manifest) -> Manifest:
    """Return a v1beta1 manifest of it, in a namespace if its kind is in one."""
    place = {"namespace": "default"} if KIND[manifest["kind"]].scope == "Namespaced" else {}
    return in_version(manifest, "v1beta1") | {
        "metadata": {"name": f"respelled-{path.stem}"} | place
    }


@PATHS
def test_the_older_spelling_reads_as_the_newer(path: Path) -> None:
    older, newer = documents(path)
    kind = KIND[older["kind"]].type
    assert read(older, kind) == read({"kind": older["kind"], **newer}, kind)


@PATHS
def test_reading_leaves_the_older_object_as_it_was(path: Path) -> None:
    older, again = documents(path)[0], documents(path)[0]
    to_v1beta2(KIND[older["kind"]].type, older)
    assert older == again


@PATHS
def test_the_older_spelling_is_read_from_bytes_too(path: Path) -> None:
    older = documents(path)[0]
    kind = KIND[older["kind"]].type
    assert decode_object(msgspec.json.encode(older), kind) == read(older, kind)


@pytest.mark.real
@PATHS
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
async def test_a_client_of_v1beta2_sees_the_newer_spelling(
    cluster: Cluster, path: Path, version: str
) -> None:
    older, newer = documents(path)
    written = in_version(named(path, older), version)
    made = await cluster.create({key: written[key] for key in written if key != "status"})
    assert made.status == 201, made.message
    if "status" in older:
        await cluster.merge(written, {"status": older["status"]}, "/status")
    seen = await cluster.get(in_version(written, "v1beta2"))
    await cluster.delete(written)
    filled = await cluster.create(in_version(named(path, older | newer), "v1beta2"), dry=True)
    assert seen.body["spec"] == filled.body["spec"]
    assert seen.body.get("status") == newer.get("status")


@pytest.mark.real
async def test_an_older_manifest_applied_with_another_value_changes_it(cluster: Cluster) -> None:
    fields = named(Path("applied"), {"kind": "ClusterQueue", "spec": {"cohort": "first"}})
    await cluster.create(fields)
    await cluster.merge(fields, {"spec": {"cohort": "second"}})
    seen = await cluster.get(in_version(fields, "v1beta2"))
    await cluster.delete(fields)
    assert seen.body["spec"]["cohortName"] == "second"
    assert "cohort" not in seen.body["spec"]


def test_null_means_absent() -> None:
    raw: dict[str, Any] = {"spec": {"cohort": None, "cohortName": "lab", "resourceGroups": None}}
    assert read(raw, KIND["ClusterQueue"].type) == read(
        {"spec": {"cohortName": "lab"}}, KIND["ClusterQueue"].type
    )


@PATHS
def test_a_newer_field_that_is_null_does_not_hide_the_older_one(path: Path) -> None:
    older, newer = documents(path)
    kind = KIND[older["kind"]].type
    nulls = {field: None for field in newer.get("spec", {}) if field not in older.get("spec", {})}
    spelled_twice = older | {"spec": older.get("spec", {}) | nulls}
    assert read(spelled_twice, kind) == read(older, kind)


@pytest.mark.real
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
async def test_a_quota_with_a_fraction_becomes_text(cluster: Cluster, version: str) -> None:
    quotas = {"nominalQuota": 1.5, "borrowingLimit": "2", "lendingLimit": 0.25}
    flavors = [{"name": "any", "resources": [{"name": "cpu", **quotas}]}]
    group = {"coveredResources": ["cpu"], "flavors": flavors}
    field = "cohort" if version == "v1beta1" else "cohortName"
    manifest: Manifest = {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "ClusterQueue",
        "metadata": {"name": "fractions"},
        "spec": {field: "c", "resourceGroups": [group]},
    }
    answer = await cluster.create(manifest, dry=True)
    assert answer.status == 201, answer.message
    (resource,) = answer.body["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert resource == {"name": "cpu", **quotas, "nominalQuota": "1500m", "lendingLimit": "250m"}
