"""Starts of jobs while servers of NATS die: three of them, over TLS, with accounts."""
