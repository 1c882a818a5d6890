"""Kinds that a field suspends: one engine for all of them, and kinds by declaration."""
