"""The doctor's policies and rights: compared with the configuration that the services read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cli.stage import silent, staged
from tidegate.cli.commands.manifests import manifests_of_file
from tidegate.cli.doctor.findings import Finding
from tidegate.cli.doctor.installation import examine_installation
from tidegate.cli.objects.api_client import ApiClient, open_api
from tidegate.cluster.install import apply, install, manifests_folder
from tidegate.errors import ApiStatusError
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

__all__ = ["staged"]

MAPS = "/api/v1/namespaces/tidegate-system/configmaps"
PODS = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks: [batch/job, pod]
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration that enables pods."""
    path = tmp_path / "configuration.yaml"
    path.write_text(PODS)
    return str(path)


@pytest.fixture
def with_pods(staged: str, config: str) -> str:
    """Lend a cluster with all that a configuration takes which enables pods."""

    async def put() -> None:
        async with connect(Access(kubeconfig=staged)) as api:
            await install(api, manifests_folder(), silent)
            for manifest in manifests_of_file(config):
                await apply(api, manifest)

    asyncio.run(put())
    return staged


def found(kubeconfig: str, config: str = "") -> dict[str, Finding]:
    with open_api(kubeconfig) as api:
        return {finding.code: finding for finding in examine_installation(api, config)}


def put_configuration(kubeconfig: str, namespace: str, text: str) -> None:
    labels = {"app.kubernetes.io/part-of": "tidegate"}
    metadata = {"name": "tidegate-configuration", "labels": labels}
    with open_api(kubeconfig) as api:
        if api.find(f"/api/v1/namespaces/{namespace}") is None:
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            api.request("POST", "/api/v1/namespaces", space)
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        api.request("POST", path, {**made, "data": {"configuration.yaml": text}})


def test_policies_of_the_configuration_in_force_are_right(with_pods: str) -> None:
    put_configuration(with_pods, "tidegate-system", PODS)
    mapping = found(with_pods)
    assert {"PoliciesInPlace", "RightsInPlace"} <= mapping.keys()
    assert mapping["ConfigurationInForce"].text == (
        "ConfigMap tidegate-system/tidegate-configuration: batch/job, pod"
    )


def test_policies_of_more_than_is_enabled_are_named(with_pods: str) -> None:
    mapping = found(with_pods)
    assert mapping["PoliciesLeft"].text.startswith("MutatingAdmissionPolicy tidegate-gate-pods")


def test_what_is_missing_is_installed_as_the_configuration_says(staged: str, config: str) -> None:
    mapping = found(staged, config)
    assert mapping["PoliciesMissing"].to_do == (
        f"`tidegate manifests --config FILE | kubectl apply -f -`, with the file of {config}"
    )


def test_a_configuration_that_cannot_be_read_or_is_not_the_only_one_is_named(staged: str) -> None:
    put_configuration(staged, "one", "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: X\nx: 1\n")
    assert (
        "In ConfigMap one/tidegate-configuration" in found(staged)["ConfigurationUnreadable"].text
    )
    put_configuration(staged, "two", PODS)
    assert "Several installations" in found(staged)["ConfigurationUnreadable"].text


def test_where_there_are_no_mutating_policies_the_webhook_is_looked_for(
    with_pods: str, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ApiClient.object_path

    def older(api: ApiClient, version: str, kind: str, *where: str) -> str:
        if kind.startswith("MutatingAdmissionPolicy"):
            raise ApiStatusError(404, f"{kind} of {version} is not served")
        return place(api, version, kind, *where)

    monkeypatch.setattr(ApiClient, "object_path", older)
    text = found(with_pods, config)["PoliciesMissing"].text
    assert text == "MutatingWebhookConfiguration tidegate-webhook"
