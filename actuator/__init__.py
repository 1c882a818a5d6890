"""Decisions become patches on the cluster's objects."""
