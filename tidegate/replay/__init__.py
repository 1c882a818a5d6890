"""Replays a ledger: to start the scheduler, to audit decisions, to explain them."""
