"""What the pipeline costs by itself, without a Kubernetes API server."""
