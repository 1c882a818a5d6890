"""Reports on the present: queues, quota, pending and admitted workloads."""
