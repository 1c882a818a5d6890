"""``tidegate why`` without a ledger: a server's answer reads as the ledger's."""

from __future__ import annotations

import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tidegate.cli.objects.fetching import TOKEN
from tidegate.cli.objects.serving import parse_workload_name
from tidegate.cli.program import build_app
from tidegate.cluster.processes import is_alive, last_lines, spawn, stop
from tidegate.ports import free_ports

ASKED = (
    ["job/sweep", "-n", "a"],
    ["a/job/huge", "-o", "wide"],
    ["a/job-sweep-734ea", "-o", "json"],
    ["job/urgent", "-n", "b", "--whole", "-o", "json"],
    ["sweep", "-n", "a", "--brief", "--as-of", "57", "-o", "json"],
    ["job/huge", "-n", "a", "-o", "name"],
    ["job.batch/huge", "-n", "a", "-o", "name"],
    ["a/Jobs/huge", "-o", "name"],
    ["workload.kueue.x-k8s.io/job-huge-d526e", "-n", "a", "-o", "name"],
)
DEADLINE_S = 60


@pytest.fixture(scope="session")
def server(ledger: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Lend the URL of the command, running."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "tidegate.cli.main", "serve", "--port", str(port)]
    log = tmp_path_factory.mktemp("command") / "serve.log"
    process = spawn("serve", [*command, "--ledger", ledger], log)
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + DEADLINE_S
    while not ready(url):
        assert is_alive(process), last_lines(process)
        assert time.monotonic() < until, last_lines(process)
    yield url
    stop(process, signal.SIGTERM)


def ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=1) as answer:  # noqa: S310 - our own
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def why(words: list[str], **environment: str) -> Result:
    return CliRunner().invoke(build_app(), ["why", *words], env=environment)


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no instance, no ledger and no cluster of this machine be found."""
    for name in ("TIDEGATE_LEDGER", "KUBECONFIG", "TIDEGATE_SERVER", "TIDEGATE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TIDEGATE_STATE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_a_server_answers_as_the_ledger_does(ledger: str, server: str, words: list[str]) -> None:
    asked, read = why(words, TIDEGATE_SERVER=server), why([*words, "--ledger", ledger])
    assert (asked.exit_code, asked.output) == (0, read.output)
    assert asked.output


def test_what_the_server_refuses_is_said(server: str) -> None:
    result = why(["job/nothing", "-n", "a", "--server", server])
    assert result.exit_code == 1
    assert "knows no workload" in result.stderr


def test_without_a_namespace_a_server_is_not_asked(server: str) -> None:
    result = why(["job/sweep", "--server", server])
    assert result.exit_code == 2
    assert "-n NAMESPACE" in result.stderr


def test_a_token_does_not_go_unencrypted() -> None:
    words = ["job/sweep", "-n", "a", "--server", "http://tidegate.example"]
    result = why(words, **{TOKEN: "secret"})
    assert result.exit_code == 2
    assert "unencrypted" in result.stderr
    assert "secret" not in result.output


@pytest.mark.parametrize("login", ["ann:s3cret@", "ann:s3cret/@", "s3cret@", "ann:s3cret#@"])
def test_a_password_in_a_server_s_url_is_refused_and_not_quoted(login: str) -> None:
    result = why(["job/sweep", "-n", "a", "--server", f"https://{login}tidegate.example"])
    assert (result.exit_code, TOKEN in result.stderr) == (2, True)
    assert "s3cret" not in f"{result.output}{result.exception}"


def test_a_url_that_is_none_is_refused() -> None:
    result = why(["job/sweep", "-n", "a", "--server", "file:///etc/passwd"])
    assert result.exit_code == 2


def test_without_ledger_server_and_cluster_it_says_how_to_name_one() -> None:
    result = why(["job/sweep", "-n", "a"])
    assert result.exit_code == 3
    assert "--ledger" in result.stderr


def test_without_ledger_and_namespace_it_says_that_a_ledger_is_missing() -> None:
    result = why(["job/sweep"])
    assert result.exit_code == 3
    assert "--ledger" in result.stderr
    assert "-n NAMESPACE" in result.stderr


@pytest.mark.parametrize(
    ("text", "namespace", "meant"),
    [
        ("job/sweep", "a", ("a", "job", "sweep")),
        ("a/sweep", "", ("a", "", "sweep")),
        ("a/job/sweep", "", ("a", "job", "sweep")),
        ("sweep", "a", ("a", "", "sweep")),
    ],
)
def test_a_name_is_read_as_the_ledger_reads_it(
    text: str, namespace: str, meant: tuple[str, str, str]
) -> None:
    assert parse_workload_name(text, namespace) == meant
