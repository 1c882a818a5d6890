"""The statuses of ClusterQueues, Cohorts and LocalQueues, and what they count."""
