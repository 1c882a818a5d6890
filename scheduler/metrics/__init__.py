"""Kueue's metrics: counted as entries are committed, or made at each scrape."""
