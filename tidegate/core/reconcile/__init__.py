"""Rules outside the cycle: evictions, checks, timeouts, back-off, orders given again."""
