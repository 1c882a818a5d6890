"""Figures of a replay in virtual time: as a table, as JSON, as one HTML page with plots."""
