"""TFJob: a podset for each of chief, master, parameter servers, workers and evaluator.

Podsets: ``chief``, ``master``, ``ps``, ``worker``, ``evaluator``, as many as replicas
Topology: by ``training.kubeflow.org/replica-index``

Source: behaviour.md 16, Kubeflow v1 jobs.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

KIND = kubeflow_kind(
    "kubeflow.org/tfjob",
    Roles(path=("spec", "tfReplicaSpecs"), names=("Chief", "Master", "PS", "Worker", "Evaluator")),
)
