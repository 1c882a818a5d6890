"""The scheduler's state: workloads, queues, definitions, and the caches derived from them."""
