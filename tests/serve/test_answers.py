"""What the server answers is what the command line prints, of now and of the past."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tidegate.cli.program import build

SAME = (
    ("why a/job-huge-d526e", "workloads/a/job-huge-d526e/why"),
    ("why job/urgent -n b", "workloads/b/urgent/why?kind=job"),
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
    ("events --tail 7", "events?limit=7"),
    (
        "events --since 31 --as-of 46 --type WorkloadAdmitted",
        "events?after=30&asOf=46&type=WorkloadAdmitted",
    ),
    ("report waits", "reports/waits"),
    ("report quota_history --as-of 60", "reports/quota_history?asOf=60"),
)
TEXTS = (("why job/sweep", "table"), ("why job/huge -o wide", "wide"))
OURS = ("leftOut", "bar")
"""What only the server says, and what only a table shows."""


def printed(ledger: str, words: str) -> str:
    result = CliRunner().invoke(build(), words.split(), env={"TIDEGATE_LEDGER": ledger})
    assert result.exit_code == 0, result.output
    return result.stdout


def told(value: object) -> object:
    """Return an answer without what the other one leaves out."""
    if isinstance(value, dict):
        kept = {name: told(one) for name, one in value.items() if name not in OURS}
        return {name: one for name, one in kept.items() if one not in (None, 0, "", [], {})}
    return [told(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("words", "path"), SAME)
def test_the_server_answers_what_the_command_prints(
    local: TestClient, ledger: str, words: str, path: str
) -> None:
    answer = local.get(f"/v1/{path}")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    expected = json.loads(printed(ledger, f"{words} -o json"))
    assert expected
    assert told(found.get("items", found) if isinstance(found, dict) else found) == told(expected)


@pytest.mark.parametrize(("words", "form"), TEXTS)
def test_a_story_as_text_is_what_the_command_prints(
    local: TestClient, ledger: str, words: str, form: str
) -> None:
    name = words.split()[1].removeprefix("job/")
    answer = local.get(f"/v1/workloads/a/{name}/why?format={form}")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == printed(ledger, words)
