"""Whom a workload may evict: candidates, their order, and how few of them suffice."""
