"""Scenarios of many steps that Kueue was observed in, put to the core."""
