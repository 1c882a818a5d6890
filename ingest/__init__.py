"""Publish Kubernetes watch events as observations on the bus."""
