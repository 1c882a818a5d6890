"""What the chart's values change: names, ports, Secrets, volumes, kinds, the jobs by the clock."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.applying import apply_all
from tests.deploy.rendering import (
    DEPLOY,
    Object,
    Objects,
    by_name,
    chart,
    installed,
    pods,
    template,
)
from tests.deploy.tools import helm
from tidegate.cli.commands.manifests import manifests_of_file
from tidegate.cluster.install import read_documents
from tidegate.kube.client import KubernetesClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]
SERVICES = ("ingest", "scheduler", "actuator")
VALUES: Object = {
    "mode": "production",
    "clusterName": "east",
    "partitions": 3,
    "serviceMonitor": True,
    "prometheusRule": True,
    "configuration": {"multiKueue": {}},
    "dispatcher": {"enabled": True},
    "serve": {"enabled": True, "visibility": True},
    "replicas": {"ingest": 3, "dispatcher": 3, "guard": 3, "scheduler-2": 3},
    "strategy": {"ingest": {"type": "Recreate"}},
    "affinity": {"scheduler": {"podAntiAffinity": {}}},
    "env": {"scheduler": [{"name": "TIDEGATE_LEASE_S", "value": "12"}]},
    "volumes": {"scheduler": [{"name": "more", "emptyDir": {}}]},
    "volumeMounts": {"scheduler": [{"name": "more", "mountPath": "/more"}]},
    "secrets": {
        "scheduler": {"name": "own", "natsUrl": "nats", "ledgerUrl": "database"},
        "scheduler-2": {"name": "own-2"},
        "dispatcher": {"name": "own-dispatcher", "natsUrl": "bus"},
        "serve": {"name": "own-reader", "ledgerUrl": "database", "tls": "own-tls"},
    },
    "ca": {"secret": "authority", "key": "tls.crt"},
    "annotations": {"example.com/team": "batch"},
    "labels": {"example.com/tier": "system", "app.kubernetes.io/part-of": "other"},
    "podAnnotations": {"example.com/pod": "yes"},
    "podLabels": {"example.com/sidecar": "no"},
    "tolerations": [{"key": "system", "operator": "Exists"}],
    "networkPorts": {"nats": [4443], "kubernetes": [8443]},
    "maintenance": {
        "enabled": True,
        "storage": {"size": "5Gi", "className": "shared"},
        "jobs": {"archive": {"suspend": False}, "verify": {"schedule": "1 2 3 * *"}},
    },
}


def with_values(values: Object, folder: Path, *more: str) -> Objects:
    """Return what helm makes of the chart with a file of values."""
    (folder / "values.yaml").write_text(json.dumps(values))
    command = [helm(), "template", "tidegate", str(DEPLOY / "chart"), "--values"]
    command += [str(folder / "values.yaml"), "--namespace", "tidegate-system"]
    command += ["--kube-version", "1.36.3", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return by_name(read_documents(done.stdout))


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return with_values(VALUES, tmp_path)


def container(objects: Objects, service: str) -> Object:
    pod_spec = objects["Deployment", f"tidegate-{service}"]["spec"]["template"]["spec"]
    container: Object = pod_spec["containers"][0]
    return container


def environment(obj: Object) -> dict[str, Any]:
    listed = [
        (variable["name"], variable.get("value", variable.get("valueFrom")))
        for variable in obj["env"]
    ]
    assert len(dict(listed)) == len(listed), "server-side apply takes each name once"
    return dict(listed)


def test_a_variable_replaces_the_manifests_by_name_and_the_cluster_has_its_own(
    objects: Objects,
) -> None:
    mapping = {name: environment(container(objects, name)) for name in SERVICES}
    assert {variables["TIDEGATE_CLUSTER"] for variables in mapping.values()} == {"east"}
    assert (mapping["scheduler"]["TIDEGATE_LEASE_S"], mapping["ingest"]["TIDEGATE_LEASE_S"]) == (
        "12",
        "6",
    )


def test_secrets_and_the_authority_may_be_of_other_names(objects: Objects) -> None:
    fields = environment(container(objects, "scheduler"))
    assert fields["TIDEGATE_NATS_URL"] == {"secretKeyRef": {"name": "own", "key": "nats"}}
    assert fields["TIDEGATE_LEDGER"] == {"secretKeyRef": {"name": "own", "key": "database"}}
    kept = environment(container(objects, "ingest"))["TIDEGATE_NATS_URL"]
    assert kept == {"secretKeyRef": {"name": "tidegate-ingest", "key": "nats-url"}}
    for _, pod in pods(objects):
        if pod["spec"]["serviceAccountName"] == "tidegate-guard":  # asks no NATS and no PostgreSQL
            continue
        (ca,) = [volume for volume in pod["spec"]["volumes"] if volume["name"] == "ca"]
        items = [{"key": "tls.crt", "path": "ca.crt"}]
        assert ca == {"name": "ca", "secret": {"secretName": "authority", "items": items}}


def test_pods_are_placed_and_annotated_as_set(objects: Objects) -> None:
    obj = objects["Deployment", "tidegate-ingest"]
    spec, scheduler = obj["spec"], dict(pods(objects))["tidegate-scheduler"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (3, {"type": "Recreate"})
    assert obj["metadata"]["annotations"] == {"example.com/team": "batch"}
    assert obj["metadata"]["labels"]["app.kubernetes.io/part-of"] == "tidegate"
    assert obj["metadata"]["labels"]["example.com/tier"] == "system"
    noted = spec["template"]["metadata"]
    assert (noted["annotations"]["example.com/pod"], noted["labels"]["example.com/sidecar"]) == (
        "yes",
        "no",
    )
    assert scheduler["affinity"] == {"podAntiAffinity": {}}
    assert [toleration["key"] for toleration in scheduler["tolerations"]][-1] == "system"
    assert len(scheduler["tolerations"]) == 3
    assert scheduler["volumes"][-1] == {"name": "more", "emptyDir": {}}
    assert scheduler["containers"][0]["volumeMounts"][-1] == {"name": "more", "mountPath": "/more"}


def test_network_policies_let_out_the_ports_that_are_named(objects: Objects) -> None:
    rules = objects["NetworkPolicy", "tidegate-ingest"]["spec"]["egress"]
    assert [[port["port"] for port in rule["ports"]] for rule in rules] == [
        [53, 53],
        [4443],
        [4318],
        [8443],
    ]


def test_dispatcher_and_read_api_take_values_as_the_other_services(objects: Objects) -> None:
    templates = dict(pods(objects))
    assert objects["Deployment", "tidegate-dispatcher"]["spec"]["replicas"] == 3
    assert objects["Deployment", "tidegate-guard"]["spec"]["replicas"] == 3
    (dispatcher,) = templates["tidegate-dispatcher"]["spec"]["containers"]
    values = {entry["name"]: entry for entry in dispatcher["env"]}
    assert values["TIDEGATE_CLUSTER"]["value"] == "east"
    secret = values["TIDEGATE_NATS_URL"]["valueFrom"]["secretKeyRef"]
    assert secret == {"name": "own-dispatcher", "key": "bus"}
    spec = templates["tidegate-serve"]["spec"]
    (entry,) = [variable for variable in spec["containers"][0]["env"] if "valueFrom" in variable]
    secret = entry["valueFrom"]["secretKeyRef"]
    assert secret == {"name": "own-reader", "key": "database"}
    names = [volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume]
    assert names == ["own-tls", "authority"]


def test_the_jobs_by_the_clock_are_those_of_the_component(objects: Objects) -> None:
    jobs = {name: obj["spec"] for (kind, name), obj in objects.items() if kind == "CronJob"}
    assert sorted(jobs) == [
        f"tidegate-{text}"
        for text in ("archive", "backup", "checkpoint", "expire", "rebuild", "verify")
    ]
    assert jobs["tidegate-archive"]["suspend"] is False
    assert jobs["tidegate-verify"]["schedule"] == "1 2 3 * *"
    claim = objects["PersistentVolumeClaim", "tidegate-archive"]["spec"]
    assert claim["resources"]["requests"]["storage"] == "5Gi"
    assert claim["storageClassName"] == "shared"
    assert [kind for kind, _ in chart("mode=production") if kind == "CronJob"] == []


def test_other_kinds_take_what_the_command_prints_for_them(tmp_path: Path) -> None:
    integrations = {"frameworks": ["batch/job", "ray.io/rayjob"]}
    config = tmp_path / "config.yaml"
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    config.write_text(json.dumps({**head, "integrations": integrations}))
    printed = manifests_of_file(str(config))
    (tmp_path / "printed.yaml").write_text(yaml.safe_dump_all(printed))
    values: Object = {"configuration": {"integrations": integrations}}
    refused = template("configuration.integrations.frameworks={ray.io/rayjob}", check=False)
    assert "--set-file manifests=FILE" in refused.stderr
    mapping = with_values(values, tmp_path, f"--set-file=manifests={tmp_path}/printed.yaml")
    for obj in printed:
        there = mapping[obj["kind"], obj["metadata"]["name"]]
        assert there["metadata"] == obj["metadata"]
    (subject,) = mapping["ClusterRoleBinding", "tidegate-ingest-kinds"]["subjects"]
    assert (subject["name"], subject["namespace"]) == ("tidegate", "tidegate-system")


@pytest.mark.parametrize(
    "setting",
    [
        "env.absent[0].name=A",
        "env.ingest[0].value=A",
        "secrets.ingest.password=x",
        "networkPorts.nats[0]=0",
        "clusterName=East",
        "maintenance.jobs.nothing.suspend=true",
        "replicas.ingest=0",
        "replicas.ingest-1=2",
        "secrets.scheduler-0.name=own",
    ],
)
def test_a_value_of_the_wrong_form_is_refused(setting: str) -> None:
    done = template(setting, check=False)
    assert done.returncode == 1
    assert "values don't meet the specifications" in done.stderr


def test_a_partition_s_service_has_what_partition_0_s_has_but_where_it_is_named(
    objects: Objects,
) -> None:
    schedulers = [objects["Deployment", f"tidegate-scheduler{text}"] for text in ("", "-1", "-2")]
    assert [scheduler["spec"]["replicas"] for scheduler in schedulers] == [2, 2, 3]
    specs = [scheduler["spec"]["template"]["spec"] for scheduler in schedulers]
    assert [spec["affinity"] for spec in specs] == [{"podAntiAffinity": {}}] * len(specs)
    documents = [environment(container(objects, f"scheduler{text}")) for text in ("", "-1", "-2")]
    assert [variables["TIDEGATE_LEASE_S"] for variables in documents] == ["12"] * len(documents)
    assert [variables.get("TIDEGATE_PARTITION") for variables in documents] == [None, "1", "2"]
    keys = [variables["TIDEGATE_LEDGER"]["secretKeyRef"] for variables in documents]
    assert [(key["name"], key["key"]) for key in keys] == [
        ("own", "database"),
        ("tidegate-scheduler-1", "ledger-url"),
        ("own-2", "ledger-url"),
    ]


@pytest.mark.real
async def test_a_real_api_server_takes_all_of_it(admin: KubernetesClient, objects: Objects) -> None:
    namespace = {("Namespace", "tidegate-system"): installed()["Namespace", "tidegate-system"]}
    await apply_all(admin, namespace)
    await apply_all(admin, objects)
    await apply_all(admin, objects)  # as an upgrade does
    await delete_claim(admin)


async def delete_claim(admin: KubernetesClient) -> None:
    """Delete the archive's claim, whose spec cannot change: other tests apply theirs."""
    path = "/api/v1/namespaces/tidegate-system/persistentvolumeclaims/tidegate-archive"
    assert (await admin.request("DELETE", path)).status == 200
    async with asyncio.timeout(60):
        while (await admin.request("GET", path)).status != 404:
            await asyncio.sleep(0.1)
