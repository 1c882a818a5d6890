"""History read again: to start, to audit, to explain."""
