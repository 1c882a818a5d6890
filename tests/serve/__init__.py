"""Tests of the read API, on the ledger of ``tidegate ledger sample``."""
