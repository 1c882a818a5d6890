"""Connections to the database and their rights."""
