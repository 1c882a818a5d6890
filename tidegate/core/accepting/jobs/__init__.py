"""Turns observed jobs into facts about workloads: submitted, changed, adopted, finished."""
