"""Decisions on one workload: admit it, preempt for it, reserve freed quota, order its start."""
