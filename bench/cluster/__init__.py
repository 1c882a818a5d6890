"""The whole system measured on a real API server: see ``python -m bench.cluster --help``."""
