"""Parts of lists, tags by the ledger's seq, limits, and what a server without --auth refuses."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from store.views.catalog import VIEWS
from tests.serve.conftest import Client, judged, running
from tests.serve.people import ReviewingApi
from tidegate.cli.program import build_app
from tidegate.serve.api.answering import BY_NAMESPACE
from tidegate.serve.api.endpoints import ENDPOINTS

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is refused
REFUSED = (
    (["--host", EVERYWHERE], "--auth"),
    (["--host", "::"], "--auth"),
    (["--host", "tidegate.example"], "--auth"),
    (["--visibility"], "--tls-cert"),
    (["--auth", "--visibility"], "--tls-cert"),
    (["--auth", "--host", EVERYWHERE], "unencrypted"),
    (["--tls-cert", "tls.crt"], "--tls-key"),
)
STRANGE = ("tidegate.example", "127.0.0.1.evil.example", "evil.example:80", "", "[::2]:80")


def test_a_list_comes_in_parts_that_make_the_whole(local: TestClient) -> None:
    whole = local.get("/v1/tree").json()
    parts, offset = list[object](), 0
    while offset is not None:
        part = local.get(f"/v1/tree?limit=4&offset={offset}").json()
        assert (part["seq"], part["total"]) == (whole["seq"], whole["total"])
        parts, offset = parts + part["items"], part["nextOffset"]
    assert parts == whole["items"]
    assert len(parts) > 4


@pytest.mark.parametrize("path", ["queues", "positions", "running", "costs"])
def test_a_tenant_gets_later_parts_as_of_the_first(served: Client, path: str) -> None:
    now = served("ann").get(f"/v1/{path}?namespace=a").json()
    then = served("ann").get(f"/v1/{path}?namespace=a&asOf={now['seq']}").json()
    assert then == now


def test_a_list_without_a_limit_of_its_own_has_the_usual_one(local: TestClient) -> None:
    assert local.get("/v1/tree?limit=0").json() == local.get("/v1/tree").json()


def test_what_has_not_changed_is_not_sent_again(local: TestClient) -> None:
    first = local.get("/v1/queues")
    tag = first.headers["etag"]
    assert first.headers["tidegate-seq"] == str(first.json()["seq"])
    assert local.get("/v1/queues", headers={"If-None-Match": tag}).status_code == 304
    past = local.get("/v1/queues?asOf=46", headers={"If-None-Match": tag})
    assert (past.status_code, past.headers["etag"] == tag) == (200, False)


def test_a_tag_of_an_administrator_says_nothing_to_other_users(served: Client) -> None:
    path = "/v1/workloads/a/huge/why"
    tag = served("root").get(path).headers["etag"]
    assert served("ann").get(path, headers={"If-None-Match": tag}).status_code == 200
    assert served("guest").get(path, headers={"If-None-Match": tag}).status_code == 403


def test_one_person_is_slowed_down(ledger: str) -> None:
    with running(ledger, *judged(ReviewingApi(), per_s=0.001)) as client:
        assert client("root").get("/v1/me").status_code == 429
        assert client("root").get("/v1/me").headers["retry-after"] == "1"


@pytest.mark.parametrize("host", STRANGE)
def test_a_page_of_another_site_cannot_ask_the_server_of_this_machine(
    local: TestClient, host: str
) -> None:
    assert local.get("/v1/me").json()["everything"]
    assert local.get("/v1/me", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize(("words", "text"), REFUSED)
def test_the_command_refuses_what_would_be_open(ledger: str, words: list[str], text: str) -> None:
    result = CliRunner().invoke(build_app(), ["serve", "--ledger", ledger, *words])
    assert result.exit_code == 2
    assert text in result.stderr


def test_an_archive_is_not_served(ledger: str, tmp_path: object) -> None:
    archive = f"{tmp_path}/ledger.jsonl"
    exported = ["ledger", "export", archive, "--ledger", ledger]
    assert CliRunner().invoke(build_app(), exported).exit_code == 0
    result = CliRunner().invoke(build_app(), ["serve", "--ledger", archive])
    assert result.exit_code == 2
    assert "archive" in result.stderr


def test_reports_by_namespace_are_those_with_such_a_column() -> None:
    sums = {"quota_hourly", "wait_summary"}  # they tell of namespaces, and sum what others have
    columns = {name: {column.name for column in view.columns} for name, view in VIEWS.items()}
    by_namespace = {name for name, names in columns.items() if "namespace" in names}
    assert set(BY_NAMESPACE) == by_namespace - sums


def test_the_document_has_every_endpoint_and_every_form(local: TestClient) -> None:
    document = local.get("/openapi.json").json()
    assert document["paths"].keys() == {row.path for row in ENDPOINTS}
    forms = set(re.findall(r"#/components/schemas/([\w.\[\]]+)", str(document)))
    assert forms
    assert forms <= document["components"]["schemas"].keys()


def test_every_answer_forbids_what_is_from_elsewhere(local: TestClient) -> None:
    for path in ("/look/", "/v1/me", "/nothing", "/healthz"):
        headers = local.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("text", [None, "", "-----BEGIN CERTIFICATE-----\n"])
def test_a_certificate_that_cannot_be_used_is_refused_at_once(
    ledger: str, tmp_path: Path, text: str | None
) -> None:
    file = tmp_path / "tls.crt"
    if text is not None:
        file.write_text(text)
    words = ["--ledger", ledger, "--tls-cert", str(file), "--tls-key", str(file)]
    refused = CliRunner().invoke(build_app(), ["serve", *words])
    assert refused.exit_code == 2, refused.exception
    assert f"--tls-cert {file} and --tls-key {file} cannot be used (" in refused.stderr


def test_an_address_that_is_taken_is_refused_before_it_is_named(ledger: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        result = CliRunner().invoke(build_app(), ["serve", "--ledger", ledger, "--port", port])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: The server cannot listen: Address already in use")
    assert port in result.stderr
    assert "The page:" not in result.stderr
