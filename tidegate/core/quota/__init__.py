"""Quota in cohort trees: charges of podsets, unused quota, and fair shares."""
