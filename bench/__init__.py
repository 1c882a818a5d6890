"""Measurements: core, ledger, latency, the whole system, and a guard over them: ``make bench``."""
