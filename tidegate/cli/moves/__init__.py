"""Trees of cohorts that move between partitions: how far one is, and how one is asked for."""
