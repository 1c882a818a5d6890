"""Decision types by subject: queues, budgets, clusters, copies, placements, starts."""
