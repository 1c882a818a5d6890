"""Kueue's Configuration file, read as a Policy."""
