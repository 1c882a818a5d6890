"""The setups that API servers are compared in differ in what their names say."""

from __future__ import annotations

from typing import Any

from bench.servers import SETUPS
from tidegate.cluster.install import ORDER, manifests_folder, read_manifests
from tidegate.kinds.policies.forms import ACCOUNTS


def manifests(setup: str) -> list[dict[str, Any]]:
    every = [manifest for room in ORDER for manifest in read_manifests(manifests_folder() / room)]
    changed = [SETUPS[setup].change(manifest) for manifest in every]
    return [manifest for manifest in changed if manifest is not None]


def versions(setup: str) -> dict[str, int]:
    return {
        manifest["spec"]["names"]["kind"]: len(manifest["spec"]["versions"])
        for manifest in manifests(setup)
        if manifest["kind"] == "CustomResourceDefinition"
    }


def test_what_is_installed_is_left_as_it_is() -> None:
    assert len(manifests("installed")) > len(manifests("without-policies")) > len(ORDER)


def test_workloads_are_served_in_as_many_versions_as_the_name_says() -> None:
    assert versions("installed")["Workload"] == 2
    assert versions("three-versions")["Workload"] == 3
    assert set(versions("one-version").values()) == {1}


def test_no_rules_and_no_policies_are_left() -> None:
    assert "x-kubernetes-validations" in str(manifests("installed"))
    assert "x-kubernetes-validations" not in str(manifests("without-rules"))
    assert "AdmissionPolicy" in str([manifest["kind"] for manifest in manifests("installed")])
    assert "AdmissionPolicy" not in str(
        [manifest["kind"] for manifest in manifests("without-policies")]
    )


def test_policies_for_all_do_not_depend_on_the_writer() -> None:
    account = ACCOUNTS[0]
    policies = [
        manifest
        for manifest in manifests("policies-for-all")
        if "AdmissionPolicy" in manifest["kind"]
    ]
    conditions = [str(policy["spec"].get("matchConditions", [])) for policy in policies]
    assert policies
    assert not [text for text in conditions if account in text]
    assert account in str(manifests("installed"))
