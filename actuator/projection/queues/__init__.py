"""ClusterQueues, Cohorts and LocalQueues: their numbers, their shares, and their statuses."""
