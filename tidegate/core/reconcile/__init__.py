"""Rules outside the cycle: evictions, checks, timeouts, back-off, repeated orders."""
