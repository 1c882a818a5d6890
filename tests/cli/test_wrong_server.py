"""Servers that are none of Kubernetes, and names that no object can have, are said in one line."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: "http://127.0.0.1:PORT"}}]
users: [{name: a, user: {}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
"""


class Portal(BaseHTTPRequestHandler):
    """Answers whatever is asked with a page, and refuses what would change something."""

    def do_GET(self) -> None:
        self._answer(200)

    def do_PATCH(self) -> None:
        self._answer(404)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library has it
        """Log nothing."""

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"<html>\n<body>\nPlease log in\n</body>\n</html>\n")


@pytest.fixture
def portal(tmp_path: Path) -> Iterator[str]:
    """Lend the kubeconfig of a server that is no API server."""
    with HTTPServer(("127.0.0.1", 0), Portal) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        file = tmp_path / "kubeconfig"
        file.write_text(KUBECONFIG.replace("PORT", str(server.server_port)))
        yield str(file)
        server.shutdown()
        serving.join()


@pytest.mark.parametrize(
    "command",
    ["clusters cordon a", "drift", "partitions move research --to 1", "stop wl job/train"],
)
def test_a_server_that_is_none_of_kubernetes_is_named(
    tidegate: Tidegate, portal: str, command: str
) -> None:
    result = tidegate(*command.split(), "--kubeconfig", portal)
    assert result.exit_code == 3, result.exception
    (line,) = result.stderr.splitlines()
    assert "was answered with no Kubernetes object: check which server the kubeconfig" in line


def test_the_doctor_reports_a_server_that_is_none_of_kubernetes(
    tidegate: Tidegate, portal: str
) -> None:
    result = tidegate("doctor", "--kubeconfig", portal)
    assert result.exit_code == 1, result.exception
    assert "ApiUnreachable" in result.stdout


def test_a_refusal_that_is_a_page_is_one_line(tidegate: Tidegate, portal: str) -> None:
    result = tidegate("stop", "cq", "a", "--kubeconfig", portal)
    (line,) = result.stderr.splitlines()
    assert "<html> <body> Please log in </body> </html>" in line


@pytest.mark.parametrize(
    "words",
    [
        ["stop", "cq", "../localqueues"],
        ["stop", "cq", "a/status"],
        ["resume", "cq", "a?dryRun=All"],
        ["stop", "cq", ""],
        ["stop", "lq", "a", "-n", ""],
        ["stop", "wl", "job/train", "-n", "a/../b"],
        ["clusters", "cordon", "../clusterqueues/a"],
    ],
)
def test_what_no_object_can_be_called_is_not_put_into_a_path(
    tidegate: Tidegate, portal: str, words: list[str]
) -> None:
    result = tidegate(*words, "--kubeconfig", portal)
    assert result.exit_code == 2, result.exception
    assert "is none that an object can have" in result.stderr


def test_a_servers_url_and_token_that_are_none_are_refused(
    tidegate: Tidegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEGATE_LEDGER")
    asked = ["why", "job/train", "-n", "a", "--server"]
    assert "A server's URL begins with" in tidegate(*asked, "https://[").stderr
    monkeypatch.setenv("TIDEGATE_TOKEN", "one\ntwo")
    refused = tidegate(*asked, "https://127.0.0.1:1")
    assert refused.stderr.startswith("error: TIDEGATE_TOKEN holds more than one line")
