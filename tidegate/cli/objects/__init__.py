"""Kubernetes objects as commands ask for them, print them and change them."""
