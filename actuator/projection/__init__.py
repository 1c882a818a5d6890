"""The ledger as Kubernetes objects: folded from events, pure."""
