"""Webhooks: what is sent where, and what is tried again."""
