"""Measurements: the core in virtual time, without I/O."""
