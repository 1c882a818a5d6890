"""A real Kubernetes control plane without containers: built from Go modules, run on loopback."""
