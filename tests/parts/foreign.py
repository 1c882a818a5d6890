"""Kinds of other people: their CRDs, as far as their fields matter here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
_HERE = Path(__file__).parent / "crds"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"


def foreign_crd(name: str) -> Object:
    """Return the CRD in ``crds/<name>.yaml``."""
    found: Object = yaml.safe_load((_HERE / f"{name}.yaml").read_text())
    return found


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
