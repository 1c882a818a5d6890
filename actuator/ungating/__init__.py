"""Pods behind a gate, let go as far as their Workloads are granted pods."""
