"""Workloads on worker clusters: who is asked, who runs them, and what is taken back."""
