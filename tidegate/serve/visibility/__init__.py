"""Kueue's visibility API, and ``why``, behind the API server's aggregation layer."""
