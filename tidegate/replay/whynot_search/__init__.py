"""What would have to change for a pending workload to start."""
