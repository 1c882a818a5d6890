"""Worlds in which two partitions decide about trees that move between them."""
