"""A server of one partition shows that partition's reports and costs, and none of another's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from store.access.engine import open_engine
from store.schema.migrate import upgrade
from store.views.texts import TEXTS
from tests.serve.conftest import running
from tests.serve.partitions.conftest import NO_AUTH
from tests.store.test_two_partitions import retold, story, write
from tidegate.cli.program import build_app
from tidegate.contracts.facts import Event

HISTORIES = (0, story()), (1, retold(story()))
COSTS = ("/v1/costs?month=2026-03", "/v1/quota-use?month=2026-03")


def append(url: str, *histories: tuple[int, Sequence[Sequence[Event]]]) -> None:
    engine = open_engine(url)
    write(engine, *histories)
    engine.dispose()


def written(folder: Path, *histories: tuple[int, Sequence[Sequence[Event]]]) -> str:
    """Write a new ledger, and return its URL."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    engine = open_engine(url)
    upgrade(engine)
    engine.dispose()
    append(url, *histories)
    return url


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a ledger whose partitions have hours of usage, and prices."""
    return written(tmp_path_factory.mktemp("hours"), *HISTORIES)


@pytest.fixture(scope="module", params=[0, 1])
def alone(request: pytest.FixtureRequest, hours: str) -> Iterator[tuple[int, TestClient]]:
    """Lend a partition and a client of its server."""
    with running(hours, *NO_AUTH, partition=request.param) as client:
        yield request.param, client("")


def items(client: TestClient, path: str) -> list[dict[str, Any]]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    documents: list[dict[str, Any]] = answer.json()["items"]
    return documents


@pytest.mark.parametrize("name", TEXTS)
def test_a_report_has_the_rows_of_the_partition(
    hours: str, alone: tuple[int, TestClient], name: str
) -> None:
    partition, client = alone
    words = ["report", name, "--partition", str(partition), "-o", "json", "--ledger", hours]
    printed = CliRunner().invoke(build_app(), words)
    answer = client.get(f"/v1/reports/{name}?limit=5000")
    assert (answer.status_code == 200) == (printed.exit_code == 0), answer.text
    if printed.exit_code:
        assert (answer.status_code, name) == (422, "wait_summary")
        return
    rows = answer.json()["items"]
    assert rows == json.loads(printed.stdout)
    assert {row["partition"] for row in rows} <= {partition}
    assert rows or name == "budgets"


@pytest.mark.parametrize("moment", ["", "&asOf=2026-03-02T09:30:00Z"])
@pytest.mark.parametrize("path", COSTS)
def test_costs_are_those_of_a_ledger_of_the_partition_alone(
    tmp_path: Path, hours: str, alone: tuple[int, TestClient], path: str, moment: str
) -> None:
    partition, client = alone
    with (
        running(written(tmp_path, HISTORIES[partition]), *NO_AUTH) as of_it,
        running(hours, *NO_AUTH) as of_all,
    ):
        expected, every = (items(client_of(""), path + moment) for client_of in (of_it, of_all))
    documents = items(client, path + moment)
    assert documents == expected
    assert documents
    assert documents != every


def test_the_only_partition_sums_what_several_cannot(tmp_path: Path) -> None:
    url = written(tmp_path, HISTORIES[0])
    with running(url, *NO_AUTH, partition=0) as client:
        assert items(client(""), "/v1/reports/wait_summary")
        append(url, HISTORIES[1])
        # An answer of the same seq is remembered: another part of it is not.
        assert client("").get("/v1/reports/wait_summary?limit=9").status_code == 422
