"""MPIJob (v2beta1): a podset for its launcher and one for its workers.

Podsets: ``launcher``, ``worker``, as many as replicas
Topology: by ``training.kubeflow.org/replica-index``; with ``runLauncherAsWorker`` a policy numbers
    the workers behind their launcher

Source: behaviour.md 16, MPIJob.
"""

from __future__ import annotations

from tidegate.jobs.training.roles import Roles, kubeflow_kind

KIND = kubeflow_kind(
    "kubeflow.org/mpijob",
    Roles(path=("spec", "mpiReplicaSpecs"), names=("Launcher", "Worker"), pairs=True),
)
