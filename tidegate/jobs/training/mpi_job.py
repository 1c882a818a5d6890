"""MPIJob (v2beta1): a podset for its launcher and one for its workers.

Source: behaviour.md 16, MPIJob.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

KIND = kubeflow_kind(
    "MPIJob",
    Roles(path=("spec", "mpiReplicaSpecs"), names=("Launcher", "Worker"), pairs=True),
    version="v2beta1",
    controller="kubeflow.org/mpi-operator",
)
