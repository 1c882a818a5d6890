"""The dispatcher: copies workloads to worker clusters, as decided, and observes them there."""
