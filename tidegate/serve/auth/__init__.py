"""Who asks, and what they may see: as the Kubernetes API server says."""
