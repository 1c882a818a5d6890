"""Workload objects, statuses and Kubernetes Events written where they differ."""
