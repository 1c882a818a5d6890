"""What the doctor says of the rights of the services' accounts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cli.stage import DEPLOY, staged
from tests.parts.kubernetes import real_api
from tests.rights.asked import role
from tidegate.cli.doctor.findings import Finding
from tidegate.cli.doctor.rights import Right, examine_rights, service_accounts
from tidegate.cli.objects.api_client import ApiClient, open_api
from tidegate.cluster.install import install, manifests_folder, read_manifests
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

__all__ = ["real_api", "staged"]

NAMES = ("tidegate-ingest", "tidegate-scheduler", "tidegate-actuator")
EXTRAS = {
    "tidegate-ingest": ("topology",),
    "tidegate-scheduler": (),
    "tidegate-actuator": ("provisioning", "elastic", "unqueued", "topology"),
}
RBAC = list(read_manifests(DEPLOY / "rbac"))
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@contextmanager
def as_account(kubeconfig: str, name: str) -> Iterator[ApiClient]:
    """Connect as a service account that may do little."""
    with asyncio.Runner() as runner:
        user = f"system:serviceaccount:tidegate-system:{name}"
        opened = connect(Access(kubeconfig=kubeconfig, impersonate=user))
        try:
            yield ApiClient(runner.run(opened.__aenter__()), runner)
        finally:
            runner.run(opened.__aexit__(None, None, None))


@pytest.fixture
def installed(real_api: str) -> Iterator[str]:
    """Lend a real API server with our manifests as they are in the checkout, also afterwards."""

    async def put() -> None:
        async with connect(Access(kubeconfig=real_api)) as api:
            await install(api, manifests_folder(), lambda *_: None)

    asyncio.run(put())
    yield real_api
    asyncio.run(put())


def test_an_account_has_the_rights_of_the_roles_that_are_bound_to_it() -> None:
    actual_accounts = service_accounts(RBAC)
    assert {account.name for account in actual_accounts} == set(NAMES)
    for account in actual_accounts:
        wanted = set() if account.name == "tidegate-scheduler" else role(account.name)
        for extra in EXTRAS[account.name]:
            wanted |= role(f"{account.name}-{extra}")
        assert {tuple(right)[:3] for right in account.rights} == {tuple(right) for right in wanted}


def test_a_right_is_said_as_one_would_ask_for_it() -> None:
    assert str(Right("batch", "jobs/status", "patch")) == "patch jobs.batch/status"
    assert str(Right("", "events", "create")) == "create events"
    lease = Right("coordination.k8s.io", "leases", "get", "tidegate")
    assert str(lease) == "get leases.coordination.k8s.io tidegate"


def test_a_server_that_reviews_no_rights_is_a_check_that_is_skipped(staged: str) -> None:
    with open_api(staged) as api:
        (finding,) = examine_rights(api, RBAC)
    assert (finding.code, finding.verdict, finding.ok) == ("AccountsNotAsked", "skipped", True)
    assert "no SubjectAccessReviews" in finding.text


@pytest.mark.real
def test_accounts_with_all_their_rights_are_well(installed: str) -> None:
    with open_api(installed) as api:
        findings = list(examine_rights(api, RBAC))
    assert [finding.code for finding in findings] == [
        "AccountMay",
        "AccountNeedsNone",
        "AccountMay",
    ]


@pytest.mark.real
def test_a_right_that_was_taken_away_is_named(installed: str) -> None:
    with open_api(installed) as api:
        fields = api.request("GET", f"{ROLES}/tidegate-actuator")
        rules = [rule for rule in fields["rules"] if "events" not in rule["resources"]]
        assert len(rules) == len(fields["rules"]) - 1
        api.request("PATCH", f"{ROLES}/tidegate-actuator", {"rules": rules})
        findings = list(examine_rights(api, RBAC))
    assert findings[-1] == Finding(
        "AccountMayNot",
        ok=False,
        text="tidegate-actuator may not create events",
        to_do="`tidegate up`, or apply deploy/rbac again",
    )


@pytest.mark.real
def test_an_account_without_the_right_sees_that_the_check_was_skipped(installed: str) -> None:
    with as_account(installed, "tidegate-scheduler") as api:
        (finding,) = examine_rights(api, RBAC)
    assert (finding.code, finding.verdict) == ("AccountsNotAsked", "skipped")
    assert finding.text.startswith("you may not create SubjectAccessReviews")
