"""Nodes without kubelets, for a control plane that has none: pods run as their annotations say."""
