"""Topology-aware scheduling: assigns the pods of a workload to nodes, by racks and blocks."""
