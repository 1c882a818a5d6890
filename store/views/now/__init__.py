"""Reports on what stands now: queues, quota, admitted workloads."""
