"""Subjects and trace contexts of messages on NATS."""
