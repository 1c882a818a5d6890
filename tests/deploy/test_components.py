"""The read API's components fit the production overlay, and ask for no more than they need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from tests.deploy.rendering import DEPLOY, Objects, by_name
from tidegate.cluster.install import read_documents
from tidegate.generate.install import find_kustomize, kustomized

OVERLAY, SERVE, VISIBILITY = "overlays/production", "components/serve", "components/visibility"


def rendered(folder: Path, *components: str) -> Objects:
    if not find_kustomize():
        pytest.skip("Neither kustomize nor kubectl is on the PATH to render: install one of them.")
    places = [os.path.relpath(DEPLOY / one, folder.resolve()) for one in (OVERLAY, *components)]
    written = {"resources": places[:1], "components": places[1:]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(written))
    return by_name(read_documents(kustomized(folder)))


def test_the_aggregated_api_is_off_unless_asked_for(tmp_path: Path) -> None:
    found = rendered(tmp_path, SERVE)
    (container,) = found["Deployment", "tidegate-serve"]["spec"]["template"]["spec"]["containers"]
    assert "--auth" in container["args"]
    assert "--visibility" not in container["args"]
    assert not [name for kind, name in found if kind == "APIService"]


def test_with_the_component_three_apis_are_passed_on(tmp_path: Path) -> None:
    found = rendered(tmp_path, SERVE, VISIBILITY)
    (container,) = found["Deployment", "tidegate-serve"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][-1] == "--visibility"
    services = {name: one["spec"] for (kind, name), one in found.items() if kind == "APIService"}
    assert services.keys() == {
        "v1beta1.visibility.kueue.x-k8s.io",
        "v1beta2.visibility.kueue.x-k8s.io",
        "v1.read.tidegate.dev",
    }
    assert not [one for one in services.values() if one.get("insecureSkipTLSVerify")]
    assert {one["service"]["name"] for one in services.values()} == {"tidegate-serve"}


def test_the_server_may_ask_who_asks_and_nothing_else(tmp_path: Path) -> None:
    found = rendered(tmp_path, SERVE, VISIBILITY)
    rules = found["ClusterRole", "tidegate-serve"]["rules"]
    assert [(one["resources"], one["verbs"]) for one in rules] == [
        (["tokenreviews"], ["create"]),
        (["subjectaccessreviews"], ["create"]),
    ]
    pod = found["Deployment", "tidegate-serve"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_webhook_stands_in_for_the_mutating_policies(tmp_path: Path) -> None:
    found = rendered(tmp_path, "components/webhook")
    assert not [name for kind, name in found if kind.startswith("MutatingAdmissionPolicy")]
    assert [name for kind, name in found if kind == "ValidatingAdmissionPolicy"]
    asked = found["MutatingWebhookConfiguration", "tidegate-webhook"]["webhooks"]
    assert {one["failurePolicy"] for one in asked} == {"Ignore"}
    service = found["Service", "tidegate-webhook"]["metadata"]
    for one in asked:
        told = one["clientConfig"]["service"]
        assert (told["name"], told["namespace"]) == (service["name"], service["namespace"])


def test_the_webhook_may_touch_what_is_its_own_and_nothing_else(tmp_path: Path) -> None:
    found = rendered(tmp_path, "components/webhook")
    rules = found["ClusterRole", "tidegate-webhook"]["rules"]
    rules += found["Role", "tidegate-webhook"]["rules"]
    assert [(one["resources"], one["resourceNames"], one["verbs"]) for one in rules] == [
        (["localqueues", "workloadpriorityclasses"], ["default"], ["get"]),
        (["mutatingwebhookconfigurations"], ["tidegate-webhook"], ["get", "update"]),
        (["secrets"], ["tidegate-webhook"], ["get", "update"]),
    ]
