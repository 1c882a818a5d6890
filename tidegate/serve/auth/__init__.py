"""Authentication and authorization of callers, by the Kubernetes API server."""
