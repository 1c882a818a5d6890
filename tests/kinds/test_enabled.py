"""What a cluster is given for the kinds that a configuration enables."""

from __future__ import annotations

from pathlib import Path

from tests.parts.foreign import CONFIGURATION, declarations
from tidegate.cli.commands.manifests import manifests_of_configuration, manifests_of_file
from tidegate.kinds.manifests import policies
from tidegate.kinds.policies.forms import Manifest
from tidegate.kinds.policies.frameworks import NAMES
from tidegate.kinds.policies.templates.serving_kinds import SERVING
from tidegate.kinds.rights import kind_roles
from tidegate.service.config.configuration import read_configuration

SERVING_NAMES = tuple(kind.name for kind in SERVING)


def test_a_declared_kind_is_suspended_where_its_declaration_says() -> None:
    documents = [
        document
        for document in manifests_of_file(str(CONFIGURATION))
        if not document["kind"].endswith("Binding")
    ]
    mapping = {obj["metadata"]["name"]: obj for obj in documents}
    policy = mapping["tidegate-suspend-voyage-v1-ships-example-com"]["spec"]
    (rule,) = policy["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["apiVersions"]) == (["ships.example.com"], ["v1"])
    (mutation,) = policy["mutations"]
    assert "'/spec/anchored'" in mutation["jsonPatch"]["expression"]


def test_the_children_of_a_declared_kind_are_left_alone_by_every_policy() -> None:
    declared = tuple(declarations().values())
    for policy in policies(("batch/job", "pod"), declared):
        for condition in policy["spec"].get("matchConditions", ()):
            if condition["name"] == "not-a-child":
                assert "'ships.example.com/Voyage'" in condition["expression"]
                assert "'jobset.x-k8s.io/JobSet'" in condition["expression"]


def test_the_default_kinds_need_no_rights_besides() -> None:
    assert kind_roles(("batch/job",)) == []
    (role, _) = kind_roles(("batch/job",), devices=True)
    assert role["rules"][0]["resources"] == ["resourceclaimtemplates"]
    given = kind_roles(("batch/job", "pod"))
    assert [role["kind"] for role in given] == ["ClusterRole", "ClusterRoleBinding"] * 2


def test_where_every_kind_is_enabled_no_policy_is_about_the_others() -> None:
    for enabled in (NAMES, (*NAMES, *SERVING_NAMES)):
        specs = [policy["spec"] for policy in policies(enabled) if _is_about_disabled(policy)]
        assert bool(specs) == (enabled == NAMES)
        assert all(spec["matchConstraints"]["resourceRules"] for spec in specs)


def test_ray_jobs_and_services_read_the_clusters_that_are_made_of_them() -> None:
    roles = kind_roles(("batch/job", "ray.io/rayjob"))
    rules = [rule for role in roles for rule in role.get("rules", ())]
    about = [rule["verbs"] for rule in rules if rule["resources"] == ["rayclusters"]]
    assert about == [["list", "watch"], ["get"]]


def test_gates_are_kept_whatever_is_enabled_for_any_job_may_be_placed() -> None:
    names = {policy["metadata"]["name"] for policy in policies(("batch/job",))}
    assert "tidegate-keep-gates" in names


def test_a_kind_that_would_never_be_started_is_not_suspended(tmp_path: Path) -> None:
    text = CONFIGURATION.read_text().replace("[batch/job]", "[batch/job, example.com/ferry]")
    config = tmp_path / "configuration.yaml"
    config.write_text(text)
    objects = manifests_of_configuration(read_configuration(str(config)))
    names = {obj["metadata"]["name"] for obj in objects}
    assert "tidegate-suspend-batch-job" in names
    assert "tidegate-suspend-example-com-ferry" not in names


def test_what_is_queued_through_pods_takes_policies_and_rights_over_both() -> None:
    names = {
        policy["metadata"]["name"] for policy in policies(("batch/job", "pod", *SERVING_NAMES))
    }
    for slug in ("deployment", "statefulset", "leaderworkerset-x-k8s-io-leaderworkerset"):
        assert {f"tidegate-mark-{slug}", f"tidegate-check-{slug}-changes"} <= names
        assert f"tidegate-suspend-{slug}" not in names
    current_kind_roles = kind_roles(("batch/job", "pod", "statefulset"))
    (role,) = [
        obj for obj in current_kind_roles if obj["metadata"]["name"] == "tidegate-actuator-kinds"
    ][:1]
    verbs = {
        (resource, verb)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {("statefulsets", "patch"), ("pods", "watch"), ("pods", "delete")} <= verbs


def _is_about_disabled(manifest: Manifest) -> bool:
    named = manifest["metadata"]["name"] == "tidegate-disabled-kinds"
    return named and not manifest["kind"].endswith("Binding")
