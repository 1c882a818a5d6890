"""PaddleJob: a podset for its master and one for its workers.

Podsets: ``master``, ``worker``, as many as replicas
Topology: by ``training.kubeflow.org/replica-index``

Source: behaviour.md 16, Kubeflow v1 jobs.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

KIND = kubeflow_kind(
    "kubeflow.org/paddlejob", Roles(path=("spec", "paddleReplicaSpecs"), names=("Master", "Worker"))
)
