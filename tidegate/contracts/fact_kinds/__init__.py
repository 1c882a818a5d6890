"""Fact types by subject: definitions, clusters, copies, handovers, reception, strays."""
