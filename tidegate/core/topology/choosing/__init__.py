"""Chooses domains for the pods among those that fit, level by level down to the nodes."""
