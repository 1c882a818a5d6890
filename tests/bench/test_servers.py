"""The setups that API servers are compared in differ in what their names say."""

from __future__ import annotations

from typing import Any

from bench.servers import SETUPS
from tidegate.cluster.install import ORDER, manifests_folder, read_manifests
from tidegate.kinds.policies.forms import ACCOUNTS


def manifests(setup: str) -> list[dict[str, Any]]:
    every = [one for room in ORDER for one in read_manifests(manifests_folder() / room)]
    changed = [SETUPS[setup].change(one) for one in every]
    return [one for one in changed if one is not None]


def versions(setup: str) -> dict[str, int]:
    return {
        one["spec"]["names"]["kind"]: len(one["spec"]["versions"])
        for one in manifests(setup)
        if one["kind"] == "CustomResourceDefinition"
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
    assert "AdmissionPolicy" in str([one["kind"] for one in manifests("installed")])
    assert "AdmissionPolicy" not in str([one["kind"] for one in manifests("without-policies")])


def test_policies_for_all_ask_nobody_who_writes() -> None:
    account = ACCOUNTS[0]
    policies = [one for one in manifests("policies-for-all") if "AdmissionPolicy" in one["kind"]]
    conditions = [str(one["spec"].get("matchConditions", [])) for one in policies]
    assert policies
    assert not [text for text in conditions if account in text]
    assert account in str(manifests("installed"))
