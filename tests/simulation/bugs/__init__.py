"""Bugs put in on purpose: a simulator that does not find them proves nothing."""
