"""A hub and its member clusters, by their real services on a real bus."""
