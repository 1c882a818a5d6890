"""Quota in cohort trees: what a podset is charged, what is free, whose share is greatest."""
