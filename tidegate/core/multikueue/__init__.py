"""MultiKueue: nominates worker clusters for a workload, chooses one, withdraws copies."""
