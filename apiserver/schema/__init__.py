"""What a CRD's schema does to an object: unknown fields go, defaults come, the rest is checked."""
