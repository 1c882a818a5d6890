"""Ledgers that were written by released versions."""
