"""Copies of other clusters' jobs, made here; and what jobs of this cluster show of their own."""
