"""Placement by topologies: the algorithm and the core, and what watching nodes costs."""
