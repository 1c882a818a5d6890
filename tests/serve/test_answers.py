"""What the server answers is what the command line prints, of now and of the past."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tidegate.cli.program import build_app
from tidegate.serve.api import trials

SAME = (
    ("why a/job-huge-d526e", "workloads/a/job-huge-d526e/why?detail=usual"),
    ("why job/urgent -n b", "workloads/b/urgent/why?kind=job&detail=usual"),
    ("why job/sweep --whole", "workloads/a/sweep/why?detail=whole"),
    ("why job/sweep --brief --as-of 57", "workloads/a/sweep/why?detail=brief&asOf=57"),
    ("why-not job/huge", "workloads/a/huge/why-not"),
    ("show queues", "queues"),
    ("show queues --as-of 46", "queues?asOf=46"),
    ("show tree", "tree"),
    (
        "show tree research --as-of 2026-03-02T08:50:00Z",
        "tree?of=research&asOf=2026-03-02T08:50:00Z",
    ),
    ("show shares", "shares"),
    ("show usage team-a", "usage?queue=team-a"),
    ("show usage --as-of 46", "usage?asOf=46"),
    ("show positions", "positions"),
    ("show positions --as-of 57", "positions?asOf=57"),
    ("show positions --as-of 51", "positions?asOf=51"),
    ("show positions team-a --as-of 51", "positions?asOf=51&queue=team-a"),
    ("events --tail 7", "events?limit=7"),
    (
        "events --since 31 --as-of 46 --type WorkloadAdmitted",
        "events?after=30&asOf=46&type=WorkloadAdmitted",
    ),
    (
        "what-if config --set clusterqueue/team-a.cpu=16 --from 46",
        "what-if?set=clusterqueue/team-a.cpu=16&from=46",
    ),
    ("report waits", "reports/waits"),
    ("report quota_history --as-of 60", "reports/quota_history?asOf=60"),
)
TEXTS = (("why job/sweep", "table"), ("why job/huge -o wide", "wide"))
OURS = ("leftOut", "bar", "title")
"""What only the server says, what only a table shows, and where the command found the ledger."""


def job(cpu: str, namespace: str = "", queue: str = "main") -> dict[str, Any]:
    """Return a Job as a user would submit it."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": "new", "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**meta, **({"namespace": namespace} if namespace else {})},
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }


def parallel(pods: int) -> dict[str, Any]:
    """Return a Job of so many pods at once, which may be no number of pods."""
    obj = job("1")
    return {**obj, "spec": {**obj["spec"], "parallelism": pods}}


def printed(ledger: str, words: str) -> str:
    result = CliRunner().invoke(build_app(), words.split(), env={"TIDEGATE_LEDGER": ledger})
    assert result.exit_code == 0, result.output
    return result.stdout


def without_ours(value: object) -> object:
    """Return an answer without what the other one leaves out."""
    if isinstance(value, dict):
        kept = {name: without_ours(value) for name, value in value.items() if name not in OURS}
        return {name: value for name, value in kept.items() if value not in (None, 0, "", [], {})}
    return [without_ours(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("words", "path"), SAME)
def test_the_server_answers_what_the_command_prints(
    local: TestClient, ledger: str, words: str, path: str
) -> None:
    answer = local.get(f"/v1/{path}")
    assert answer.status_code == 200, answer.text
    value = answer.json()
    expected = json.loads(printed(ledger, f"{words} -o json"))
    assert expected
    assert without_ours(
        value.get("items", value) if isinstance(value, dict) else value
    ) == without_ours(expected)


@pytest.mark.parametrize(("words", "form"), TEXTS)
def test_a_story_as_text_is_what_the_command_prints(
    local: TestClient, ledger: str, words: str, form: str
) -> None:
    name = words.split()[1].removeprefix("job/")
    answer = local.get(f"/v1/workloads/a/{name}/why?detail=usual&format={form}")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == printed(ledger, words)


@pytest.mark.parametrize("cpu", ["1", "500"])
def test_a_job_that_is_only_tried_is_reported_as_by_the_command(
    local: TestClient, ledger: str, tmp_path: Path, cpu: str
) -> None:
    manifest = job(cpu)
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(manifest))
    answer = local.post("/v1/namespaces/a/dry-run", json=manifest)
    assert answer.status_code == 200, answer.text
    words = ["what-if", "submit", str(path), "-n", "a", "-o", "json"]
    result = CliRunner().invoke(build_app(), words, env={"TIDEGATE_LEDGER": ledger})
    assert result.exit_code == (cpu != "1"), result.output
    assert without_ours(answer.json()) == without_ours(json.loads(result.stdout))
    assert bool(answer.json()["assignment"]) == answer.json()["startsNow"] == (cpu == "1")


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"{", 400, "no JSON object"),
        (b"[]", 400, "no JSON object"),
        (b"[" * 100_000, 400, "no JSON object"),
        (b'{"kind": "Nosuch"}', 422, "Nosuch of core is no kind of job"),
        (b"{}", 422, "(no kind) of core is no kind of job"),
        (b'{"apiVersion": "batch/v1", "kind": "Job", "metadata": 7}', 422, "metadata"),
        (b" " * 300_000, 413, "bytes"),
        (json.dumps(job("1", namespace="b")).encode(), 400, "is not of 'a'"),
        (json.dumps(job("1", queue="")).encode(), 422, "names no LocalQueue"),
        (json.dumps(parallel(10**300)).encode(), 422, "parallelism"),
        (json.dumps(parallel(-5)).encode(), 422, "parallelism"),
    ],
)
def test_what_is_no_job_is_refused(local: TestClient, body: bytes, status: int, text: str) -> None:
    answer = local.post("/v1/namespaces/a/dry-run", content=body)
    assert (answer.status_code, text in answer.text) == (status, True), answer.text


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("", 400, "otherwise"),
        ("?set=clusterqueue/nosuch.cpu=1", 422, "nosuch"),
        ("?set=nonsense", 422, "nonsense"),
        ("?set=policy.fairSharing=true&from=4000", 400, "4000"),
    ],
)
def test_what_cannot_be_otherwise_is_refused(
    local: TestClient, query: str, status: int, text: str
) -> None:
    answer = local.get(f"/v1/what-if{query}")
    assert (answer.status_code, text in answer.text) == (status, True), answer.text


def test_one_history_is_played_at_a_time_and_of_a_bounded_length(
    local: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/v1/what-if?set=clusterqueue/team-a.cpu=17"
    with trials.PLAYING:
        assert local.get(path).status_code == 503
    monkeypatch.setattr(trials, "MOMENTS_MAX", 3)
    assert (local.get(path).status_code, "3 steps" in local.get(path).text) == (422, True)
    monkeypatch.setattr(trials, "PAST_MAX", 10)
    assert (local.get(path).status_code, "10 events" in local.get(path).text) == (422, True)


@pytest.mark.parametrize(
    "path", ["/v1/workloads/a/huge/why-not?kind=job", "/v1/namespaces/a/dry-run"]
)
def test_a_search_that_takes_too_long_is_refused(
    local: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(trials, "SEARCH_S", -1.0)
    asked = local.get if "why-not" in path else partial(local.post, json=job("501"))
    answer = asked(path)
    assert (answer.status_code, "your own machine" in answer.text) == (422, True), answer.text
