"""Member clusters: their names, their heartbeats, and the flavors that exist in each."""
