"""Kubernetes watch events become observations on the bus."""
