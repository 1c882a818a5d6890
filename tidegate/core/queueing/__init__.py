"""ClusterQueues' queues: which workload is the head, in what order, and what is inadmissible."""
