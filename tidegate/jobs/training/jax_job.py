"""JAXJob: a podset for its workers.

Source: behaviour.md 16, Kubeflow v1 jobs.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

KIND = kubeflow_kind("JAXJob", Roles(path=("spec", "jaxReplicaSpecs"), names=("Worker",)))
