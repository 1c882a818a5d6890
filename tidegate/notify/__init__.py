"""Notifications: events of workloads, sent to configured webhooks."""
