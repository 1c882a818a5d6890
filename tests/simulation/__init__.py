"""The real services, the real core and the real ledger in one seeded world where all may fail."""
