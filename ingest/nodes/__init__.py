"""Topologies, nodes and the pods on these: watched once a flavor names a topology."""
