"""Data of a job beyond its own object: its Workload, namespace, owners."""
