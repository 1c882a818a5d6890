"""Notifications: what happens to workloads, sent to webhooks of those who asked."""
