"""Topology-aware placement: on which nodes the pods of a workload go, racks and blocks in mind."""
