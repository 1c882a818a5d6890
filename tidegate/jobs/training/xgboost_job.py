"""XGBoostJob: a podset for its master and one for its workers.

Source: behaviour.md 16, Kubeflow v1 jobs.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

KIND = kubeflow_kind(
    "XGBoostJob", Roles(path=("spec", "xgbReplicaSpecs"), names=("Master", "Worker"))
)
