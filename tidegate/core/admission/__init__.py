"""Decisions on one workload: admit, preempt, keep what a preemption frees, order a start."""
