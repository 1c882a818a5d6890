"""The manifests of both installations keep the promises that their files make.

They are read as kustomize renders them; what the API server thinks of them is in test_applied.
"""

from __future__ import annotations

from typing import Any

import pytest

from actuator.settings import Settings as ActuatorSettings
from ingest.settings import Settings as IngestSettings
from scheduler.settings import Settings as SchedulerSettings
from tests.deploy.rendering import DEPLOY, Object, Objects, installed, overlay, pods
from tidegate.generate.install import LISTED, kustomization_of
from tidegate.service.config.configuration import parse_configuration

OVERLAYS = ("embedded", "production")
SETTINGS = {
    "ingest": IngestSettings,
    "scheduler": SchedulerSettings,
    "actuator": ActuatorSettings,
}
ENVIRONMENT_OF_MIGRATE = {"TIDEGATE_LEDGER", "TIDEGATE_GRANT_TO", "TIDEGATE_GRANT_READING_TO"}


@pytest.fixture(scope="module", params=OVERLAYS)
def objects(request: pytest.FixtureRequest) -> Objects:
    return overlay(request.param)


def containers(pod: Object) -> list[Object]:
    spec = pod["spec"]
    return [*spec.get("initContainers", ()), *spec["containers"]]


def test_the_one_file_is_what_kustomize_makes_of_the_embedded_overlay() -> None:
    assert installed() == overlay("embedded"), "run: python -m tidegate.generate.install"


@pytest.mark.parametrize("name", LISTED)
def test_a_folder_lists_all_that_it_holds(name: str) -> None:
    text = (DEPLOY / name / "Kustomization").read_text()
    assert text == kustomization_of(DEPLOY / name), "run: python -m tidegate.generate.install"


def test_each_container_may_do_nothing_that_it_needs_not(objects: Objects) -> None:
    for name, pod in pods(objects):
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True, name
        assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, container["name"]


def test_each_container_says_what_it_needs_and_which_version_it_is(objects: Objects) -> None:
    for _, pod in pods(objects):
        for container in containers(pod):
            assert set(container["resources"]["requests"]) == {"cpu", "memory"}, container["name"]
            assert "memory" in container["resources"]["limits"]
            assert container["image"].partition(":")[2] not in {"", "latest"}


def test_each_service_is_probed_where_it_listens(objects: Objects) -> None:
    for _, pod in pods(objects):
        for container in pod["spec"]["containers"]:
            (port,) = container["ports"]
            mapping = {entry["name"]: entry.get("value") for entry in container["env"]}
            assert mapping["TIDEGATE_HEALTH_PORT"] == str(port["containerPort"])
            for probe, page in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
                assert container[probe]["httpGet"] == {"path": page, "port": port["name"]}


def test_each_variable_is_a_setting(objects: Objects) -> None:
    for _, pod in pods(objects):
        for container in containers(pod):
            names = {entry["name"] for entry in container.get("env", ())}
            if container["name"] in SETTINGS:
                fields = SETTINGS[container["name"]].__struct_fields__
                assert names <= {f"TIDEGATE_{field.upper()}" for field in fields}
            else:
                assert names <= ENVIRONMENT_OF_MIGRATE


def test_each_path_that_is_written_or_read_is_mounted(objects: Objects) -> None:
    for _, pod in pods(objects):
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", ())} | {"state"}
        for container in containers(pod):
            mounts = container.get("volumeMounts", [])
            assert {mount["name"] for mount in mounts} <= volumes
            values = [entry.get("value", "") for entry in container.get("env", ())]
            for value in values:
                path = value.removeprefix("sqlite:///")
                if path.startswith("/"):
                    assert any(path.startswith(mount["mountPath"]) for mount in mounts), value


def test_only_a_client_of_kubernetes_has_a_token(objects: Objects) -> None:
    for name, pod in pods(objects):
        automatic = pod["spec"].get("automountServiceAccountToken", True)
        for container in containers(pod):
            mounted = any(mount["name"] == "token" for mount in container.get("volumeMounts", ()))
            wanted = container["name"] in {"ingest", "actuator"}
            assert (automatic or mounted) == wanted, f"{name}: {container['name']}"


def test_each_secret_is_in_the_example_and_read_by_one_service_alone() -> None:
    example = (DEPLOY / "overlays/production/secrets.yaml.example").read_text()
    readers = dict[tuple[str, str], list[str]]()
    for _, pod in pods(overlay("production")):
        for container in containers(pod):
            for entry in container["env"]:
                secret_key_ref = entry.get("valueFrom", {}).get("secretKeyRef")
                if secret_key_ref:
                    readers.setdefault((secret_key_ref["name"], secret_key_ref["key"]), []).append(
                        container["name"]
                    )
    assert [names for names in readers.values() if len(names) != 1] == []
    for name, key in readers:
        assert f"name: {name}," in example
        assert f"  {key}: " in example


def test_in_production_each_service_is_guarded_and_may_be_drained() -> None:
    objects = overlay("production")
    for name, pod in pods(objects):
        label = {"app.kubernetes.io/name": name}
        assert label.items() <= pod["metadata"]["labels"].items()
        assert objects["PodDisruptionBudget", name]["spec"]["selector"] == {"matchLabels": label}
        assert objects["NetworkPolicy", name]["spec"]["podSelector"] == {"matchLabels": label}
        assert len(pod["spec"]["topologySpreadConstraints"]) == 2
    assert objects["NetworkPolicy", "tidegate-nothing"]["spec"]["podSelector"] == {}


def test_the_configuration_is_one_that_the_services_read(objects: Objects) -> None:
    data: Any = objects["ConfigMap", "tidegate-configuration"]["data"]
    assert parse_configuration(data["configuration.yaml"]).frameworks == ("batch/job",)
