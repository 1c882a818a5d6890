"""Start and stop orders: read from EVENTS and carried out on jobs."""
