"""Worlds in which a topology places pods on nodes that come, go, fail and fill up."""
