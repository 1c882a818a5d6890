"""One raw HTTP port to a Kubernetes API server: bytes in, bytes out."""
