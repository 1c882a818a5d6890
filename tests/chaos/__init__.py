"""Faults at random, for as long as one likes, on the real parts."""
