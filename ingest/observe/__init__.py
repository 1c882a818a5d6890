"""Reduce objects of one resource to observations."""
