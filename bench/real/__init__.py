"""Loads as clusters see them: two levels of cohorts, three resources, random arrivals."""
