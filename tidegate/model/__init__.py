"""Plain values without behaviour but arithmetic: quantities, podsets, quotas, policy."""
