"""Flavor assignment: which ResourceFlavors a workload's podsets get, and why not others."""
