"""Preemption: candidates, their order, and the search for a minimal set of victims."""
