"""JAXJob: a podset for its workers.

Podsets: ``worker``, as many as replicas
Topology: by ``training.kubeflow.org/replica-index``

Source: behaviour.md 16, Kubeflow v1 jobs.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

KIND = kubeflow_kind(
    "kubeflow.org/jaxjob", Roles(path=("spec", "jaxReplicaSpecs"), names=("Worker",))
)
