"""Ledgers of any length to measure on, and the databases that keep them."""
