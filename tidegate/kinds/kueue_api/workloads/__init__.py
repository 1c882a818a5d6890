"""Workload in v1beta2: what a job asks for, what it was given, and what is said of it."""
