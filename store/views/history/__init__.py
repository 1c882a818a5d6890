"""Reports on what became of workloads: waits and preemptions."""
