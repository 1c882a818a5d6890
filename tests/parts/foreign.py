"""Kinds of other people: their CRDs, as far as their fields matter here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tidegate.model.declaration import Declaration
from tidegate.service.config.configuration import parse_configuration

Object = dict[str, Any]
_HERE = Path(__file__).parent / "crds"
CONFIGURATION = Path(__file__).parent / "declared.yaml"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"
VOYAGES = "/apis/ships.example.com/v1/namespaces/{}/voyages"
MINICLUSTERS = "/apis/flux-framework.org/v1alpha2/namespaces/{}/miniclusters"


def foreign_crd(name: str) -> Object:
    """Return the CRD in ``crds/<name>.yaml``."""
    document: Object = yaml.safe_load((_HERE / f"{name}.yaml").read_text())
    return document


def kubeflow_crd(kind: str, version: str, field: str) -> Object:
    """Return the CRD of one of Kubeflow's jobs: they differ in these and nothing else that counts.

    ``field`` is where its roles are.
    """
    text = (_HERE / "kubeflow.yaml").read_text()
    names = {"KIND": kind, "PLURAL": f"{kind.lower()}s", "SINGULAR": kind.lower()}
    for name, value in {**names, "VERSION": version, "ROLES": field}.items():
        text = text.replace(name, value)
    document: Object = yaml.safe_load(text)
    return document


def declarations() -> dict[str, Declaration]:
    """Return the declarations in ``declared.yaml``, by the kind in lower case."""
    actual_declarations = parse_configuration(CONFIGURATION.read_text()).declared
    return {declaration.kind.lower(): declaration for declaration in actual_declarations}


def pods_template(cpu: str = "1", seconds: float = 1) -> Object:
    """Return a template of pods that ask for so much and play for so long."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def jobset(name: str, queue: str = "main", *, cpu: str = "1", seconds: float = 1) -> Object:
    """Return a JobSet of one leader and one worker, its Jobs with the queue's label as well."""
    labels = {"kueue.x-k8s.io/queue-name": queue}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicatedJobs": [
                {
                    "name": role,
                    "replicas": 1,
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"template": pods_template(cpu, seconds)},
                    },
                }
                for role in ("leader", "worker")
            ]
        },
    }


def voyage(name: str, queue: str = "main", *, cpu: str = "1", seconds: float = 1) -> Object:
    """Return a Voyage of a captain and one hand."""
    crew = {"watch": "Night", "hands": 1, "sailor": pods_template(cpu, seconds)}
    return {
        "apiVersion": "ships.example.com/v1",
        "kind": "Voyage",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"captain": pods_template(cpu, seconds), "crews": [crew]},
    }


def minicluster(name: str, queue: str = "main", *, cpu: str = "1", seconds: float = 1) -> Object:
    """Return a MiniCluster of two brokers."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    annotations = {"simulate/seconds": str(seconds)}
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"size": 2, "containers": [container], "pod": {"annotations": annotations}},
    }
