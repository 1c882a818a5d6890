"""Kubeflow's training jobs: a podset a role."""
