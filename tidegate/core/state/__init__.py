"""What the scheduler knows: workloads, queues, definitions, and what is derived from them."""
