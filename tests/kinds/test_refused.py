"""What is refused on a real API server, and that the sentence names the field.

A data file says in its first line what the refusal must hold. Its documents are one object: what is
made first, then the change that is refused; with one document it is the making. Of a Pod a change
may stand between them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kinds.cluster import Answer, Cluster, Manifest, documents, files, in_version, label
from tidegate.kinds.kueue_api.v1beta2 import KINDS

SAID = "# refused: "
VERSIONS = ("v1beta1", "v1beta2")


def expected(path: Path) -> str:
    first = path.read_text().partition("\n")[0]
    assert first.startswith(SAID)
    return first.removeprefix(SAID)


def versions(manifest: Manifest) -> tuple[str, ...]:
    """Return the versions in which a manifest is tried: of Kueue's own kinds in both."""
    written = str(manifest["apiVersion"]).partition("/")[2]
    return VERSIONS if written in VERSIONS else (written,)


CASES = [
    pytest.param(path, version, id=f"{label(path)}-{version}")
    for path in files("refused")
    for version in versions(documents(path)[-1])
]

REFUSING = [path for path in files("samples/v1beta1") if path.stem != "workloads"]  # not served


def test_of_every_kind_something_is_refused() -> None:
    kinds = {documents(path)[-1]["kind"] for path in files("refused")}
    assert kinds == {kind.name for kind in KINDS} | {"Job", "Pod"}


@pytest.mark.real
@pytest.mark.parametrize(("path", "version"), CASES)
async def test_it_is_refused_with_a_sentence_that_names_the_field(
    cluster: Cluster, path: Path, version: str
) -> None:
    current_documents = documents(path)
    if version in VERSIONS:
        current_documents = [in_version(each, version) for each in current_documents]
    *before, refused = current_documents
    if not before:
        answer = await cluster.create(refused, dry=True)
    else:
        answer = await changed(cluster, *before, refused)
    assert expected(path) in answer.message


@pytest.mark.real
@pytest.mark.parametrize("field", ["labels", "annotations"])
async def test_an_elastic_job_that_runs_may_name_its_next_workload(
    cluster: Cluster, field: str
) -> None:
    path = Path(__file__).parent / "refused" / "job" / "prebuilt-changed.yaml"
    before, change = documents(path)
    for manifest, name in ((before, "a"), (change, "b")):
        key, elastic = (
            "kueue.x-k8s.io/prebuilt-workload-name",
            {"kueue.x-k8s.io/elastic-job": "true"},
        )
        manifest["metadata"] |= {"annotations": elastic, "name": f"elastic-prebuilt-{field}"}
        manifest["metadata"].setdefault(field, {})[key] = name
    answer = await changed(cluster, before, change)
    assert answer.status == 200, answer.message


@pytest.mark.real
@pytest.mark.parametrize(("version", "status"), [("v1beta1", 201), ("v1beta2", 422)])
async def test_a_strategy_without_checks_is_refused_in_v1beta2_alone(
    cluster: Cluster, version: str, status: int
) -> None:
    manifest: Manifest = {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "ClusterQueue",
        "metadata": {"name": "without-checks"},
        "spec": {"admissionChecksStrategy": {}},
    }
    answer = await cluster.create(manifest, dry=True)
    assert answer.status == status, answer.message


@pytest.mark.real
@pytest.mark.parametrize("path", REFUSING, ids=label)
async def test_v1alpha1_is_answered_with_what_to_write(cluster: Cluster, path: Path) -> None:
    for manifest in documents(path):
        answer = await cluster.create(in_version(manifest, "v1alpha1"), dry=True)
        assert "write kueue.x-k8s.io/v1beta2" in answer.message, answer.body


async def changed(cluster: Cluster, before: Manifest, *changes: Manifest) -> Answer:
    *between, refused = changes
    made = await cluster.create({key: before[key] for key in before if key != "status"})
    assert made.status == 201, made.message
    try:
        if "status" in before:
            stood = await cluster.merge(before, {"status": before["status"]}, "/status")
            assert stood.status == 200, stood.message
        if "status" in refused:
            return await cluster.merge(refused, {"status": refused["status"]}, "/status")
        for change in between:
            assert (await cluster.merge(change, change)).status == 200
        if refused["kind"] in ("Job", "Pod"):
            return await cluster.merge(refused, refused)
        return await cluster.replace(refused)
    finally:
        await cluster.delete(before)
