"""PyTorchJob: a podset for its master and one for its workers.

Podsets: ``master``, ``worker``: as many pods as replicas, of the roles that are there
Topology: by ``training.kubeflow.org/replica-index``

Source: behaviour.md 16, Kubeflow v1 jobs.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

ROLES = Roles(path=("spec", "pytorchReplicaSpecs"), names=("Master", "Worker"))
KIND = kubeflow_kind("kubeflow.org/pytorchjob", ROLES)
