"""TFJob: a podset for each of chief, master, parameter servers, workers and evaluator.

Source: behaviour.md 16, Kubeflow v1 jobs.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

KIND = kubeflow_kind(
    "TFJob",
    Roles(path=("spec", "tfReplicaSpecs"), names=("Chief", "Master", "PS", "Worker", "Evaluator")),
)
