"""The kinds of Kueue's API that quota is got through: ClusterQueue, Cohort, LocalQueue."""
