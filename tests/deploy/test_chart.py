"""The chart gives what kustomize gives, and changes what its values say and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.deploy.rendering import Object, Objects, chart, overlay, pods, template
from tests.deploy.test_components import (
    DISPATCHER,
    PARTITION,
    PROMETHEUS,
    SERVE,
    VISIBILITY,
    rendered,
)
from tidegate.cluster.go.building import OLDEST
from tidegate.generate.documents import as_yaml
from tidegate.kinds.manifests import policies
from tidegate.kinds.policies.webhooks import with_webhook

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]
NAMESPACE = ("Namespace", "tidegate-system")
CONFIGURATION = ("ConfigMap", "tidegate-configuration")


def without_notes(objects: Objects) -> Objects:
    """Return objects without what only the chart notes on them."""
    for obj in objects.values():
        for metadata in (obj["metadata"], _template(obj).get("metadata", {})):
            notes: dict[str, str] = metadata.get("annotations", {})
            notes.pop("helm.sh/resource-policy", None)
            notes.pop("tidegate.dev/configuration", None)
            if not notes:
                metadata.pop("annotations", None)
    return {key: fields for key, fields in objects.items() if key != CONFIGURATION}


def _template(obj: Object) -> Object:
    template: Object = obj.get("spec", {}).get("template", {})
    return template


@pytest.mark.parametrize(
    "settings",
    [("mode=embedded",), ("mode=production",)],
    ids=["embedded", "production"],
)
def test_by_default_the_chart_is_the_overlay(settings: tuple[str, ...]) -> None:
    wanted = without_notes(overlay(settings[0].removeprefix("mode=")))
    del wanted[NAMESPACE]
    mapping = without_notes(chart(*settings))
    assert set(mapping) == set(wanted)
    assert [key for key in wanted if mapping[key] != wanted[key]] == []


@pytest.mark.parametrize(
    ("components", "settings"),
    [
        ((DISPATCHER,), ("dispatcher.enabled=true", "configuration.multiKueue.gcInterval=1m")),
        ((SERVE,), ("serve.enabled=true",)),
        ((SERVE, VISIBILITY), ("serve.enabled=true", "serve.visibility=true")),
        (("components/maintenance",), ("maintenance.enabled=true",)),
        ((PROMETHEUS,), ("serviceMonitor=true", "prometheusRule=true")),
        (("components/webhook",), ("admission=webhook",)),
        ((PARTITION,), ("partitions=2",)),
        (
            (
                DISPATCHER,
                SERVE,
                PARTITION,
                "components/maintenance",
                "components/webhook",
                PROMETHEUS,
            ),
            (
                "partitions=2",
                "serviceMonitor=true",
                "prometheusRule=true",
                "dispatcher.enabled=true",
                "configuration.multiKueue.gcInterval=1m",
                "serve.enabled=true",
                "maintenance.enabled=true",
                "admission=webhook",
            ),
        ),
    ],
    ids=[
        "dispatcher",
        "serve",
        "visibility",
        "maintenance",
        "prometheus",
        "webhook",
        "partition",
        "all",
    ],
)
def test_what_is_enabled_in_the_chart_is_the_component(
    components: tuple[str, ...], settings: tuple[str, ...], tmp_path: Path
) -> None:
    wanted = without_notes(rendered(tmp_path, *components))
    del wanted[NAMESPACE]
    made = without_notes(chart("mode=production", *settings))
    assert set(made) == set(wanted)
    assert [key for key in wanted if made[key] != wanted[key]] == []


def test_each_further_partition_is_the_first_one_under_its_own_number() -> None:
    mapping, three = chart("mode=production"), chart("mode=production", "partitions=3")
    assert {key: three[key] for key in mapping} == mapping
    kinds = ("Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service")
    names = [f"tidegate-{service}-{n}" for n in (1, 2) for service in ("scheduler", "actuator")]
    assert set(three) - set(mapping) == {(kind, name) for kind in kinds for name in names}
    for kind, name in set(three) - set(mapping):
        if name.endswith("-1"):
            text = json.dumps(three[kind, name]).replace(name, f"{name[:-1]}2")
            number = '{"name": "TIDEGATE_PARTITION", "value": "%d"}'
            assert json.loads(text.replace(number % 1, number % 2)) == three[kind, f"{name[:-1]}2"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("dispatcher.enabled=true",), "dispatcher: only with mode=production"),
        (("serve.enabled=true",), "serve: only with mode=production"),
        (("partitions=2",), "partitions: only with mode=production"),
        (("mode=production", "dispatcher.enabled=true"), "configuration.multiKueue is not there"),
        (("mode=production", "serve.visibility=true"), "only with serve.enabled=true"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(
    settings: tuple[str, ...], message: str
) -> None:
    refused = template(*settings, check=False)
    assert refused.returncode == 1
    assert message in refused.stderr


def test_the_configuration_is_the_overlays() -> None:
    ours, theirs = chart()[CONFIGURATION], overlay("embedded")[CONFIGURATION]
    assert _lines(ours) == _lines(theirs)
    changed = chart("configuration.manageJobsWithoutQueueName=true")[CONFIGURATION]
    assert "manageJobsWithoutQueueName: true" in _lines(changed)


def _lines(configuration: Object) -> set[str]:
    return {line.strip() for line in configuration["data"]["configuration.yaml"].splitlines()} - {
        "- batch/job",
        "frameworks:",
        "frameworks: [batch/job]",
    }


def test_another_namespace_is_meant_everywhere() -> None:
    process = template("mode=production", "serviceMonitor=true", namespace="batch")
    assert "tidegate-system" not in process.stdout


def test_values_reach_the_pods() -> None:
    objects = chart(
        "mode=production",
        "images.registry=example.com/",
        "images.tag=v9",
        "images.pullPolicy=Always",
        "images.pullSecrets[0].name=pull",
        "replicas.scheduler=3",
        "resources.ingest.requests.cpu=2",
        "env.actuator[0].name=TIDEGATE_LOG_LEVEL",
        "env.actuator[0].value=debug",
        "nodeSelector.pool=system",
    )
    mapping = dict(pods(objects))
    assert objects["Deployment", "tidegate-scheduler"]["spec"]["replicas"] == 3
    spec = mapping["tidegate-actuator"]["spec"]
    (container,) = spec["containers"]
    assert container["image"] == "example.com/tidegate/actuator:v9"
    assert container["imagePullPolicy"] == "Always"
    assert container["env"][-1] == {"name": "TIDEGATE_LOG_LEVEL", "value": "debug"}
    assert (spec["nodeSelector"], spec["imagePullSecrets"]) == (
        {"pool": "system"},
        [{"name": "pull"}],
    )
    (ingest,) = mapping["tidegate-ingest"]["spec"]["containers"]
    assert ingest["resources"] == {"requests": {"cpu": 2}}


def test_storage_and_the_bus_of_one_pod_can_be_chosen() -> None:
    objects = chart("storage.size=1Gi", "storage.className=fast", "images.nats=example.com/nats:1")
    spec = objects["StatefulSet", "tidegate"]["spec"]
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert claim["spec"]["storageClassName"] == "fast"
    assert spec["template"]["spec"]["initContainers"][0]["image"] == "example.com/nats:1"


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ("networkPolicies=false", "NetworkPolicy"),
        ("podDisruptionBudgets=false", "PodDisruptionBudget"),
        ("crds.install=false", "CustomResourceDefinition"),
    ],
)
def test_what_is_not_wanted_is_left_out(setting: str, kind: str) -> None:
    assert kind in {text for text, _ in chart("mode=production")}
    assert kind not in {text for text, _ in chart("mode=production", setting)}


@pytest.mark.parametrize(
    "setting",
    ["mode=both", "replica=2", "images.registry=example.com", "partitions=0", "partitions=two"],
)
def test_an_unknown_value_is_refused(setting: str) -> None:
    done = template(setting, check=False)
    assert done.returncode == 1
    assert "values don't meet the specifications" in done.stderr


def test_before_kubernetes_136_the_webhook_stands_in_for_the_mutating_policies() -> None:
    newer, older = chart("mode=production"), chart("mode=production", kubernetes=OLDEST.version)
    only = set(older) - set(newer)
    assert {kind for kind, _ in set(newer) - set(older)} == {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
    assert {name for _, name in only} == {"tidegate-webhook"}
    assert ("MutatingWebhookConfiguration", "tidegate-webhook") in only
    assert chart("mode=production", "admission=webhook") == older
    assert chart("mode=production", "admission=policies", kubernetes=OLDEST.version) == newer


def test_manifests_of_ones_own_have_to_be_those_of_the_webhook(tmp_path: Path) -> None:
    def rendered(*manifests: Object) -> CompletedProcess[str]:
        path = tmp_path / "manifests.yaml"
        path.write_text(as_yaml(manifests))
        return template(f"manifests={path}", check=False, kubernetes=OLDEST.version, option="file")

    made = policies(("batch/job", "pod"))
    assert "--admission webhook" in rendered(*made).stderr
    assert rendered(*with_webhook(made)).stdout.count("kind: MutatingWebhookConfiguration") == 1
