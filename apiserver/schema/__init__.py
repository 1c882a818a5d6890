"""Applies a CRD's schema to an object: prunes unknown fields, sets defaults, checks the rest."""
