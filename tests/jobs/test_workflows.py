"""What docs/kinds.md says of workflows: each manifest names a queue, and what arrives is a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegate.jobs.batch import jobset
from tidegate.jobs.templates.paths import Path as Fields
from tidegate.jobs.templates.paths import value_at
from tidegate.kinds.decode import read
from tidegate.kinds.names import QUEUE_NAME

PAGE = Path(__file__).parents[2] / "docs" / "kinds.md"
SECTION = "## Workflows: pods and jobs that others make\n"
LABELS: dict[str, Fields] = {
    "Workflow": ("spec", "podMetadata", "labels", QUEUE_NAME),
    "PipelineRun": ("metadata", "labels", QUEUE_NAME),
    "JobSet": ("metadata", "labels", QUEUE_NAME),
}
PODS = {"airflow-train": {"worker": 2}, "metaflow-parallel": {"control": 1, "worker": 3}}


def manifests() -> Iterator[dict[str, Any]]:
    section = PAGE.read_text().partition(SECTION)[2].partition("\n## ")[0]
    for block in section.split("```yaml\n")[1:]:
        document: dict[str, Any] = yaml.safe_load(block.partition("```")[0])
        yield document


def test_the_page_has_one_of_each() -> None:
    kinds = [manifest["kind"] for manifest in manifests()]
    assert kinds == ["Workflow", "PipelineRun", "JobSet", "JobSet"]


@pytest.mark.parametrize("obj", list(manifests()), ids=["argo", "tekton", "airflow", "metaflow"])
def test_each_names_its_queue_where_its_controller_reads_that(obj: dict[str, Any]) -> None:
    assert value_at(obj, LABELS[obj["kind"]]) == "main"


@pytest.mark.parametrize("name", PODS)
def test_the_job_sets_are_queued_with_all_their_pods(name: str) -> None:
    obj = next(manifest for manifest in manifests() if manifest["metadata"].get("name") == name)
    meta = {"namespace": "team", "uid": "u", "resourceVersion": "1"}
    meta |= {"creationTimestamp": "2026-03-01T08:00:00Z"}
    made = {**obj, "metadata": {**obj["metadata"], **meta}}
    seen = jobset.KIND.observe(read(made, jobset.KIND.object_type))
    assert {podset.name: podset.count for podset in seen.podsets} == PODS[name]
    assert seen.queue == "main"
