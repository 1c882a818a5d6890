"""Worlds of a hub and its member clusters."""
