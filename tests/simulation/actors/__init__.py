"""Everybody who is no service of ours: people, owners, controllers of checks."""
