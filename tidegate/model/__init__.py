"""Plain values with no behaviour except arithmetic: quantities, podsets, quotas, policy."""
