"""The components fit the production overlay, and ask for no more than they need."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from dispatcher.settings import Settings as DispatcherSettings
from tests.deploy.rendering import (
    DEPLOY,
    Objects,
    by_name,
    need_kustomize,
    overlay,
    pods,
    registered,
)
from tidegate.cluster.install import read_documents
from tidegate.generate.install import run_kustomize
from tidegate.jobs.registry import JOB_KINDS
from tidegate.model.multikueue import ADAPTERS

OVERLAY, SERVE, VISIBILITY = "overlays/production", "components/serve", "components/visibility"
DISPATCHER, PROMETHEUS = "components/dispatcher", "components/prometheus"
WEBHOOK, ASKED = "components/webhook", ("serve", "guard", "webhook")
OWN = (".k8s.io",)
"""Groups of Kubernetes itself; Kueue's CRDs come with the overlay."""
SENT = {"workload", *ADAPTERS}
"""Jobs of these kinds go to worker clusters, and their Workloads with them."""


def rendered(folder: Path, *components: str) -> Objects:
    need_kustomize()
    places = [os.path.relpath(DEPLOY / text, folder.resolve()) for text in (OVERLAY, *components)]
    written = {"resources": places[:1], "components": places[1:]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(written))
    return by_name(read_documents(run_kustomize(folder)))


def test_the_aggregated_api_is_off_unless_asked_for(tmp_path: Path) -> None:
    rendering = rendered(tmp_path, SERVE)
    (container,) = rendering["Deployment", "tidegate-serve"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert "--auth" in container["args"]
    assert "--visibility" not in container["args"]
    assert not [name for kind, name in rendering if kind == "APIService"]


def test_with_the_component_three_apis_are_passed_on(tmp_path: Path) -> None:
    rendering = rendered(tmp_path, SERVE, VISIBILITY)
    (container,) = rendering["Deployment", "tidegate-serve"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["args"][-1] == "--visibility"
    assert ("ConfigMap", "tidegate-visibility") in rendering
    services = {obj["metadata"]["name"]: obj["spec"] for obj in registered()}
    assert not [name for kind, name in rendering if kind == "APIService"]  # the guard's to register
    (watched,) = [
        rule
        for rule in rendering["ClusterRole", "tidegate-guard"]["rules"]
        if "get" in rule["verbs"]
    ]
    assert set(watched["resourceNames"]) == services.keys()
    assert services.keys() == {
        "v1beta1.visibility.kueue.x-k8s.io",
        "v1beta2.visibility.kueue.x-k8s.io",
        "v1.read.tidegate.dev",
    }
    assert not [service for service in services.values() if service.get("insecureSkipTLSVerify")]
    assert {service["service"]["name"] for service in services.values()} == {"tidegate-serve"}


def test_the_server_may_review_tokens_and_access_and_nothing_else(tmp_path: Path) -> None:
    rendering = rendered(tmp_path, SERVE, VISIBILITY)
    rules = rendering["ClusterRole", "tidegate-serve"]["rules"]
    assert [(rule["resources"], rule["verbs"]) for rule in rules] == [
        (["tokenreviews"], ["create"]),
        (["subjectaccessreviews"], ["create"]),
    ]
    pod = rendering["Deployment", "tidegate-serve"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_webhook_stands_in_for_the_mutating_policies(tmp_path: Path) -> None:
    rendering = rendered(tmp_path, WEBHOOK)
    assert not [name for kind, name in rendering if kind.startswith("MutatingAdmissionPolicy")]
    assert [name for kind, name in rendering if kind == "ValidatingAdmissionPolicy"]
    asked = rendering["MutatingWebhookConfiguration", "tidegate-webhook"]["webhooks"]
    assert {webhook["failurePolicy"] for webhook in asked} == {"Ignore"}
    service = rendering["Service", "tidegate-webhook"]["metadata"]
    for webhook in asked:
        value = webhook["clientConfig"]["service"]
        assert (value["name"], value["namespace"]) == (service["name"], service["namespace"])


def test_the_webhook_may_touch_what_is_its_own_and_nothing_else(tmp_path: Path) -> None:
    rendering = rendered(tmp_path, WEBHOOK)
    rules = rendering["ClusterRole", "tidegate-webhook"]["rules"]
    rules += rendering["Role", "tidegate-webhook"]["rules"]
    assert [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in rules] == [
        (["localqueues"], None, ["get"]),
        (["workloadpriorityclasses"], ["default"], ["get"]),
        (["mutatingwebhookconfigurations"], ["tidegate-webhook"], ["get", "update"]),
        (["secrets"], ["tidegate-webhook"], ["get", "update"]),
    ]


def test_prometheus_finds_every_service(tmp_path: Path) -> None:
    rendered_objects = rendered(tmp_path, PROMETHEUS, DISPATCHER)
    (endpoint,) = rendered_objects["ServiceMonitor", "tidegate"]["spec"]["endpoints"]
    assert ("PrometheusRule", "tidegate") in rendered_objects
    for name, pod in pods(rendered_objects):
        service = rendered_objects["Service", name]
        assert service["metadata"]["labels"]["app.kubernetes.io/part-of"] == "tidegate"
        assert [port["name"] for port in service["spec"]["ports"]] == [endpoint["port"]]
        assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()


def test_without_components_production_takes_nothing_that_a_cluster_may_lack() -> None:
    groups = {obj["apiVersion"].rpartition("/")[0] for obj in overlay("production").values()}
    assert not [group for group in groups if "." in group and not group.endswith(OWN)]


def test_the_dispatcher_is_guarded_as_the_other_services_are(tmp_path: Path) -> None:
    rendered_objects = rendered(tmp_path, DISPATCHER)
    name, label = "tidegate-dispatcher", {"app.kubernetes.io/name": "tidegate-dispatcher"}
    ours = rendered_objects["Deployment", name]["spec"]
    theirs = rendered_objects["Deployment", "tidegate-actuator"]["spec"]
    pod, other = ours["template"]["spec"], theirs["template"]["spec"]
    assert (ours["replicas"], ours["strategy"]) == (theirs["replicas"], theirs["strategy"])
    for field in ("securityContext", "tolerations", "volumes"):
        assert pod[field] == other[field]
    (container,), (pattern,) = pod["containers"], other["containers"]
    for field in ("securityContext", "livenessProbe", "readinessProbe", "startupProbe"):
        assert container[field] == pattern[field]
    for kind, field in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        assert rendered_objects[kind, name]["spec"][field] == {"matchLabels": label}
    assert "ingress" not in rendered_objects["NetworkPolicy", name]["spec"]
    assert rendered_objects["Service", name]["spec"]["selector"] == label
    fields = {f"TIDEGATE_{field.upper()}" for field in DispatcherSettings.__struct_fields__}
    assert {entry["name"] for entry in container["env"]} <= fields


def test_a_node_that_goes_away_takes_one_of_two_pods_and_for_15_seconds(tmp_path: Path) -> None:
    every = rendered(tmp_path, SERVE, VISIBILITY, DISPATCHER, WEBHOOK)
    names = [name for name, _ in pods(every)]
    assert len(names) == len(("ingest", "scheduler", "actuator", "dispatcher", *ASKED))
    for name, pod in pods(every):
        label = {"matchLabels": {"app.kubernetes.io/name": name}}
        budget = every["PodDisruptionBudget", name]["spec"]
        assert every["Deployment", name]["spec"]["replicas"] == 2
        assert budget == {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": label,
        }
        constraints = pod["spec"]["topologySpreadConstraints"]
        assert [(rule["topologyKey"], rule["labelSelector"]) for rule in constraints] == [
            ("kubernetes.io/hostname", label),
            ("topology.kubernetes.io/zone", label),
        ]
        assert [
            (toleration["key"], toleration["tolerationSeconds"])
            for toleration in pod["spec"]["tolerations"]
        ] == [
            ("node.kubernetes.io/not-ready", 15),
            ("node.kubernetes.io/unreachable", 15),
        ]


def test_the_dispatcher_reads_the_secrets_of_the_workers_and_no_others(tmp_path: Path) -> None:
    rendered_objects = rendered(tmp_path, DISPATCHER)
    roles = {
        key: value for key, value in rendered_objects.items() if key[1] == "tidegate-dispatcher"
    }
    role = roles["Role", "tidegate-dispatcher"]
    assert role["rules"] == [
        {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}
        for group, resource in (("", "secrets"), ("multicluster.x-k8s.io", "clusterprofiles"))
    ]
    rules = roles["ClusterRole", "tidegate-dispatcher"]["rules"]
    assert not [rule for rule in rules if {"secrets", "*"} & {*rule["resources"], *rule["verbs"]}]
    (container,) = roles["Deployment", "tidegate-dispatcher"]["spec"]["template"]["spec"][
        "containers"
    ]
    values = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert values["TIDEGATE_NAMESPACE"] == role["metadata"]["namespace"] == "tidegate-workers"
    example = list(read_documents((DEPLOY / DISPATCHER / "secrets.yaml.example").read_text()))
    places = {obj["metadata"]["name"]: obj["metadata"]["namespace"] for obj in example if obj}
    assert places == {"tidegate-dispatcher": "tidegate-system", "worker-1": "tidegate-workers"}


def test_dispatcher_and_worker_account_know_every_kind_that_can_be_sent() -> None:
    sent = {
        (kind.api_version.rpartition("/")[0], kind.path().rpartition("/")[2])
        for name, kind in JOB_KINDS.items()
        if name in SENT
    }
    manager = _rules(DEPLOY / DISPATCHER / "rights.yaml", "tidegate-dispatcher")
    worker = _rules(DEPLOY / "worker" / "account.yaml", "tidegate-manager")
    for group, resource in sent:
        assert "get" in manager[group, resource]
        assert worker[group, resource] >= {"get", "list", "watch", "create", "delete"}
        if resource not in ("workloads", "statefulsets", "leaderworkersets"):
            assert manager[group, f"{resource}/status"] == {"patch"}
    assert worker.pop(("kueue.x-k8s.io", "workloads/status")) == {"patch"}  # to have one stopped
    assert set(worker) == sent


def _rules(file: Path, name: str) -> dict[tuple[str, str], set[str]]:
    objects = by_name(read_documents(file.read_text()))
    verbs = dict[tuple[str, str], set[str]]()
    for rule in objects["ClusterRole", name]["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                verbs.setdefault((group, resource), set()).update(rule["verbs"])
    return verbs


MEMBER = "components/member"


def test_a_member_has_two_services_that_follow_the_hub(tmp_path: Path) -> None:
    rendering = rendered(tmp_path, MEMBER)
    assert not [kind for kind, name in rendering if name == "tidegate-scheduler"]
    env = {
        pod: {variable["name"]: variable.get("value") for variable in container["env"]}
        for pod in ("ingest", "actuator")
        for container in rendering["Deployment", f"tidegate-{pod}"]["spec"]["template"]["spec"][
            "containers"
        ]
    }
    assert {variables["TIDEGATE_CLUSTER"] for variables in env.values()} == {"east"}
    assert (env["actuator"]["TIDEGATE_HUB"], env["ingest"]["TIDEGATE_FRAMEWORKS"]) == (
        "local",
        "batch/job,jobset.x-k8s.io/jobset,pod,pod-group",
    )
    assert all("TIDEGATE_NATS_URL" in variables for variables in env.values())


def test_a_member_s_actuator_makes_jobs_only_with_the_component_that_says_so() -> None:
    kinds = {("batch", "jobs"), ("jobset.x-k8s.io", "jobsets")}
    plain = _rules(DEPLOY / "rbac" / "roles.yaml", "tidegate-actuator")
    placed = _rules(DEPLOY / "components/placed/roles.yaml", "tidegate-actuator-placed")
    assert {kind for kind in kinds if "create" in plain.get(kind, ())} == set()
    assert {kind for kind, verbs in placed.items() if "create" in verbs} == kinds


PARTITION = "components/partition"


def test_a_partition_has_what_partition_0_has_under_names_of_its_own(tmp_path: Path) -> None:
    rendering = rendered(tmp_path, PARTITION)
    for service in ("scheduler", "actuator"):
        name = f"tidegate-{service}"
        for kind in ("Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"):
            text = yaml.safe_dump(rendering[kind, f"{name}-1"])
            text = text.replace(f"{name}-1", name)
            assert _plain(yaml.safe_load(text)) == _plain(rendering[kind, name])


def test_a_partition_s_services_know_their_number_and_their_own_secrets(tmp_path: Path) -> None:
    rendering = rendered(tmp_path, PARTITION)
    for service, role in (("scheduler", "tidegate-scheduler"), ("actuator", "tidegate-actuator")):
        pod = rendering["Deployment", f"{role}-1"]["spec"]["template"]["spec"]
        assert pod["serviceAccountName"] == role
        (container,) = pod["containers"]
        env = {entry["name"]: entry for entry in container["env"]}
        assert env["TIDEGATE_PARTITION"]["value"] == "1"
        keys = {
            entry["valueFrom"]["secretKeyRef"]["name"]
            for entry in env.values()
            if "valueFrom" in entry
        }
        assert keys == {f"tidegate-{service}-1"}
    example = read_documents((DEPLOY / PARTITION / "secrets.yaml.example").read_text())
    assert {obj["metadata"]["name"] for obj in example if obj} == {
        "tidegate-scheduler-1",
        "tidegate-actuator-1",
    }


def _plain(obj: Any) -> Any:  # noqa: ANN401 - a manifest
    """Return a manifest without what says which partition it is of."""
    for container in obj["spec"].get("template", {}).get("spec", {}).get("containers", ()):
        container["env"] = [
            variable for variable in container["env"] if variable["name"] != "TIDEGATE_PARTITION"
        ]
    return obj
