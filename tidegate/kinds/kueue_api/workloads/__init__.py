"""Workload in v1beta2: a job's requests, its admission and its conditions."""
