"""What the ledger looks like as Kubernetes objects: folded from events, pure."""
