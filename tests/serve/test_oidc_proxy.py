"""Headers of a proxy that signs people in count by its certificate, and give no rights."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send
from typer.testing import CliRunner

from tests.serve.people import ReviewingApi
from tidegate.cli.program import build_app
from tidegate.serve.app import create_application, open_services
from tidegate.serve.auth.callers import PEER, Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.proxies import OidcProxy
from tidegate.serve.auth.reviews import AccessReviewer, User
from tidegate.serve.auth.rights import Rights

PROXY = OidcProxy(authority="", names=("gate",), prefix="oidc:")
ANN = [("x-forwarded-user", "ann"), ("x-forwarded-groups", "research, ml")]


def test_the_proxy_names_the_caller() -> None:
    groups = ("oidc:research", "oidc:ml", "system:authenticated")
    assert PROXY.user_of("gate", ANN) == User(name="oidc:ann", groups=groups)


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        (None, ANN),
        ("", ANN),
        ("stranger", ANN),
        ("gate", []),
        ("gate", [("x-forwarded-user", "")]),
        ("gate", [*ANN, ("x-forwarded-user", "root")]),
    ],
)
def test_no_other_account_does(peer: str | None, headers: list[tuple[str, str]]) -> None:
    assert PROXY.user_of(peer, headers) is None


def test_an_identity_provider_makes_no_user_one_of_kubernetes_own() -> None:
    bare = OidcProxy(authority="", names=("gate",))
    assert bare.user_of("gate", [("x-forwarded-user", "system:admin")]) is None
    headers = [("x-forwarded-user", "eve"), ("x-forwarded-groups", "system:masters,a")]
    eve = bare.user_of("gate", headers)
    assert eve is not None
    assert eve.groups == ("a", "system:authenticated")


@pytest.mark.parametrize(("peer", "status"), [("gate", 403), ("stranger", 401), (None, 401)])
def test_headers_of_a_stranger_are_answered_like_none(
    ledger: str, peer: str | None, status: int
) -> None:
    reviews = AccessReviewer(ReviewingApi())
    parts = open_services(
        ledger, Authenticator(reviews, PROXY, RateLimiter(1_000)), Rights(reviews)
    )
    app = create_application(parts)

    async def reached(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, PEER: peer}, receive, send)

    client = TestClient(reached, headers=dict(ANN))
    assert client.get("/v1/tree").status_code == status


@pytest.mark.parametrize(
    "words",
    [
        "--auth --tls-cert c --tls-key k --proxy-ca ca",
        "--proxy-ca ca --proxy-name gate",
        "--auth --tls-cert c --tls-key k --visibility --proxy-ca ca --proxy-name gate",
    ],
)
def test_a_proxy_is_not_believed_by_halves(ledger: str, words: str) -> None:
    result = CliRunner().invoke(build_app(), ["serve", "--ledger", ledger, *words.split()])
    assert result.exit_code == 2
    assert "--proxy-ca needs" in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize("content", [b"", b"\xb0", b"ca"])
def test_a_proxys_ca_that_is_none_is_refused(ledger: str, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(content)
    words = f"--auth --tls-cert c --tls-key k --proxy-name gate --proxy-ca {file}"
    result = CliRunner().invoke(build_app(), ["serve", "--ledger", ledger, *words.split()])
    assert result.exit_code == 2, result.exception
    assert f"--proxy-ca {file} is no certificate in PEM" in result.stderr
