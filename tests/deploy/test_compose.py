"""The compose file names what exists: settings, build targets, volumes; and listens on loopback."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.deploy.containerfile import read
from tests.deploy.rendering import DEPLOY
from tests.deploy.test_manifests import SETTINGS

FILE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


@pytest.mark.parametrize("name", SETTINGS)
def test_a_service_is_built_and_given_what_it_understands(name: str) -> None:
    service = FILE["services"][name]
    assert service["build"]["target"] in read(DEPLOY / "Containerfile")
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    environment = service["environment"]
    fields = SETTINGS[name].__struct_fields__
    assert set(environment) <= {f"TIDEGATE_{field.upper()}" for field in fields}
    assert environment["TIDEGATE_HEALTH_HOST"] == "127.0.0.1"
    assert set(service["depends_on"]) <= set(FILE["services"])


@pytest.mark.parametrize("name", FILE["services"])
def test_a_container_has_no_powers_and_known_volumes(name: str) -> None:
    service = FILE["services"][name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    sources = [mount.rpartition(":/")[0] for mount in service.get("volumes", ())]
    named = {source for source in sources if not source.startswith(("/", ".", "~", "$"))}
    assert named <= set(FILE["volumes"])


def test_the_bus_is_on_loopback() -> None:
    listens = [
        line.split()[1]
        for line in FILE["configs"]["nats"]["content"].splitlines()
        if line.startswith(("listen:", "http:"))
    ]
    assert len(listens) == 2
    assert all(address.startswith("127.0.0.1:") for address in listens)
