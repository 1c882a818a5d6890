"""Observation types by subject: identity, jobs, nodes, clusters, copies, handovers."""
